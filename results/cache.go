package results

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/atomicfile"
	"github.com/colltune/colltune/internal/lazyregexp"
)

// The cache of candidates: one compressed file an entry, named by its key. A key is a
// hash of all that the entry depends on, so an entry is right or not there. It is a line
// of JSON with a checksum, and then the IR of its program, if it has one:
//
//	candidates/<key>.json.gz ─gunzip─▶ {"schema":…,"key":…,"note":…,"ir":…,"sum":…}
//	                                   {"name":…
//
// The checksum covers the line; the hash in it covers the program. A torn or changed
// entry is made again. Entries are not synced: a crash of the machine loses work alone.
const (
	cacheDir    = "candidates"
	cacheSchema = "colltune.candidate/v1"
)

// cacheMark is the beginning of every entry, the schema as gzip's comment. A file
// without it is not colltune's, whatever its name.
var cacheMark = []byte("\x1f\x8b\x08\x10\x00\x00\x00\x00\x04\xff" + cacheSchema + "\x00")

// Limits of an entry, in bytes, and of the entries of a run.
const (
	maxCacheLine    = 16 << 20
	maxCacheProgram = 256 << 20 // uncompressed
	maxCacheBytes   = 4 << 30   // all entries that one run writes
)

// cacheEntry is the first line of an entry.
type cacheEntry struct {
	Schema  string          `json:"schema"`
	Key     string          `json:"key"`
	Note    json.RawMessage `json:"note"`
	Program string          `json:"ir,omitempty"` // its hash
}

// Hash returns a hash of the parts of a plan that a search's answer depends on: 64
// hexadecimal digits.
func (p Plan) Hash() string {
	p.Version = ""
	sum := sha256.Sum256(p.encode())
	return hex.EncodeToString(sum[:])
}

// cacheFile is the name of an entry's file in the campaign's folder.
func cacheFile(key string) string { return filepath.Join(cacheDir, key+".json.gz") }

var cacheName = lazyregexp.New(`^([0-9a-f]{64})\.json\.gz$`)

// Cached reads the entry of a key: its note into note, and its program, which is nil if
// it has none. The program matches its hash, which does not make it a correct one. If
// there is no entry the error wraps fs.ErrNotExist; any other says why it is not usable.
func (c *Campaign) Cached(key string, note any) (*ir.Program, error) {
	if !isHash(key) {
		return nil, fmt.Errorf("candidate %.80q: want a key of 64 hexadecimal digits", key)
	}
	f, err := openRegular(c.folder, cacheFile(key), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := readCached(f, key, note)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cacheFile(key), err)
	}
	return p, nil
}

func readCached(r io.Reader, key string, note any) (*ir.Program, error) {
	entry, rest, err := readCacheLine(r, key)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(entry.Note, note); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(rest, maxCacheProgram+1)) // to its end, where gzip's checksum is
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxCacheProgram:
		return nil, fmt.Errorf("program of more than %d bytes", int64(maxCacheProgram))
	case entry.Program == "" && len(text) > 0:
		return nil, errors.New("more than its line says")
	case entry.Program == "":
		return nil, nil
	}
	p, err := ir.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if got := p.Hash(); got != entry.Program {
		return nil, fmt.Errorf("holds program %s: the file was changed", ShortHash(got))
	}
	return p, nil
}

// readCacheLine reads the first line of an entry and checks that it is of that key. rest
// is what follows.
func readCacheLine(r io.Reader, key string) (entry cacheEntry, rest *bufio.Reader, err error) {
	packed, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return entry, nil, err
	}
	rest = bufio.NewReader(packed)
	var line []byte
	for {
		part, err := rest.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxCacheLine {
			return entry, nil, fmt.Errorf("line of more than %d bytes", maxCacheLine)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return entry, nil, err
		}
	}
	body, sum, ok := splitChecksum(line)
	if !ok || sum != checksum("", body) {
		return entry, nil, errors.New("checksum does not match")
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return entry, nil, err
	}
	if entry.Schema != cacheSchema || entry.Key != key {
		return entry, nil, errors.New("another entry under this name")
	}
	return entry, rest, nil
}

// Cache writes the entry of a key: a note, as JSON, and a program with its hash, or
// neither. It replaces an entry of that key. An entry that is too large is left out
// without an error. The error is ErrReadOnly, or that of the system.
func (c *Campaign) Cache(key string, note any, hash string, p *ir.Program) error {
	switch {
	case c.lock == nil:
		return fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	case !isHash(key):
		return fmt.Errorf("candidate %.80q: want a key of 64 hexadecimal digits", key)
	}
	text, err := encodeCached(key, note, hash, p)
	if err != nil || text == nil || c.cached.Add(int64(len(text))) > maxCacheBytes {
		return err
	}
	return atomicfile.ErrorAt(filepath.Join(c.dir, cacheFile(key)), c.writeCached(cacheFile(key), text))
}

// encodeCached is an entry as its file holds it; nil if it is too large.
func encodeCached(key string, note any, hash string, p *ir.Program) ([]byte, error) {
	raw, err := json.Marshal(note)
	if err != nil {
		return nil, err
	}
	object, err := json.Marshal(cacheEntry{cacheSchema, key, raw, hash})
	if err != nil {
		return nil, err
	}
	line, _ := appendChecksum("", object)
	if len(line) > maxCacheLine {
		return nil, nil
	}
	var text bytes.Buffer
	packed := packers.Get().(*gzip.Writer)
	defer packers.Put(packed)
	packed.Reset(&text)
	packed.Comment = cacheSchema
	if _, err := packed.Write(line); err != nil {
		return nil, err
	}
	if p != nil {
		all := &counter{to: packed}
		if err := ir.Encode(all, p); err != nil {
			return nil, err
		}
		if all.n > maxCacheProgram {
			return nil, nil
		}
	}
	err = packed.Close()
	return text.Bytes(), err
}

// packers are gzip's writers, whose tables take more time to make than most entries take to
// pack. Programs repeat themselves so much that the best speed is enough.
var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	return w
}}

// counter counts the bytes that it passes on.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(text []byte) (int, error) {
	n, err := c.to.Write(text)
	c.n += int64(n)
	return n, err
}

// writeCached writes a new file in the place of an entry that was not believed. It never
// writes into a file that is there, which might have other names.
func (c *Campaign) writeCached(name string, text []byte) error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := c.folder.OpenFile(name, flags, 0o644)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := c.folder.MkdirAll(cacheDir, 0o755); err != nil {
			return err
		}
		f, err = c.folder.OpenFile(name, flags, 0o644)
	case errors.Is(err, fs.ErrExist):
		if err := c.removeEntry(name); err != nil {
			return err
		}
		if f, err = c.folder.OpenFile(name, flags, 0o644); errors.Is(err, fs.ErrExist) {
			return nil // another writes the same entry just now
		}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, c.folder.Remove(name)) // a torn entry only takes room
	}
	return nil
}

// Enumerated ends the enumeration of a campaign's candidates, whose keys are used. It
// removes the entries of other keys, which an earlier build or other limits left, and
// no other file. The error is ErrReadOnly, or that of the system.
func (c *Campaign) Enumerated(used map[string]bool) error {
	if c.lock == nil {
		return fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	}
	c.mu.Lock()
	c.enumerated = true
	c.mu.Unlock()
	return c.removeCached(func(key string) bool { return !used[key] })
}

// removeCached removes the unwanted entries, and no other file, even if it is named like
// an entry.
func (c *Campaign) removeCached(unwanted func(key string) bool) error {
	return c.eachCached(func(key string) error {
		if !unwanted(key) {
			return nil
		}
		err := c.removeEntry(cacheFile(key))
		var foreign *foreignError
		if errors.As(err, &foreign) {
			return nil
		}
		return err
	})
}

// removeEntry removes an entry, whole or torn.
func (c *Campaign) removeEntry(name string) error {
	f, err := openRegular(c.folder, name, os.O_RDONLY)
	if err != nil {
		return err
	}
	ours := isEntry(f)
	f.Close()
	if !ours {
		return &foreignError{filepath.Join(c.dir, name)}
	}
	return c.folder.Remove(name)
}

// isEntry reports whether a file holds the mark, or as much of it as was written when its
// writer was killed: crashes of the machine leave zeros after that. A damaged byte makes
// it no other's.
func isEntry(f *os.File) bool {
	const damaged = 4
	head := make([]byte, len(cacheMark))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	written := n
	for written > 0 && head[written-1] == 0 {
		written--
	}
	differ := 0
	for i, b := range head[:written] {
		if b != cacheMark[i] {
			differ++
		}
	}
	return differ == 0 || differ <= damaged && n == len(cacheMark)
}

// foreignError reports a file of another program in the place of an entry.
type foreignError struct{ path string }

func (e *foreignError) Error() string {
	return e.path + ": colltune did not write this: move it, or give the campaign another folder"
}

// eachCached calls do for every file named like an entry. A campaign without a cache has
// none.
func (c *Campaign) eachCached(do func(key string) error) error {
	files, err := c.list(cacheDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, file := range files {
		if name := cacheName().FindStringSubmatch(file.Name()); name != nil {
			err = errors.Join(err, do(name[1]))
		}
	}
	return err
}

// cachedProgram finds a program among the candidates by its hash. It is nil if it is not
// there, or does not match its hash.
func (c *Campaign) cachedProgram(hash string) *ir.Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.candidates == nil {
		c.candidates = map[string]string{}
		_ = c.eachCached(func(key string) error {
			f, err := openRegular(c.folder, cacheFile(key), os.O_RDONLY)
			if err != nil {
				return nil
			}
			defer f.Close()
			if entry, _, err := readCacheLine(f, key); err == nil && entry.Program != "" {
				c.candidates[entry.Program] = key
			}
			return nil
		})
	}
	key, ok := c.candidates[hash]
	if !ok {
		return nil
	}
	var note json.RawMessage
	p, err := c.Cached(key, &note)
	if err != nil || p == nil || p.Hash() != hash {
		return nil
	}
	return p
}
