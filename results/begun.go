package results

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/colltune/colltune/compiler/ir"
)

// The file of an unfinished enumeration: for each entry a line, followed by its program,
// compressed, if it has one. The first line says which search the entries belong to. A
// line's checksum covers the first line and itself; a program's hash covers the program.
//
//	{"schema":…,"key":…,"sum":…}
//	{"name":…,"note":…,"ir":…,"bytes":4711,"sum":…}
//	4711 bytes {"name":…,"note":…,"sum":…}
//	{"name":…  torn
const (
	begunFile   = "candidates.part"
	begunSchema = "colltune.candidates.part/v3"
)

// Limits, in bytes, on the file and on its lines: the lines are held in memory while the
// file is open.
const (
	maxBegun      = 1 << 30
	maxBegunLines = 64 << 20
)

// Begun is what an enumeration has made so far, by name, for a search that was cut
// short to find again. Its methods may be called from several goroutines at once.
type Begun struct {
	mu    sync.Mutex
	file  *os.File // nil: closed
	end   int64    // of the last whole entry
	lines int64    // bytes of them
	first string   // the checksum of the first line
	known map[string]begunEntry
}

// begunEntry is an entry without its program, which stays in the file.
type begunEntry struct {
	note    json.RawMessage
	program string // its hash; "": none
	at      int64
	bytes   int64
}

// begunLine is the line of an entry.
type begunLine struct {
	Schema  string          `json:"schema,omitempty"`
	Key     string          `json:"key,omitempty"`
	Name    string          `json:"name,omitempty"`
	Note    json.RawMessage `json:"note,omitempty"`
	Program string          `json:"ir,omitempty"`
	Bytes   int64           `json:"bytes,omitempty"`
	Sum     string          `json:"sum,omitempty"` // see sealed
}

// Begin opens what was made under a key. Anything made under another key is
// dropped, and so is a torn tail. If ctx is done first, the file is left unchanged,
// and so is one that no enumeration wrote: that is an error.
func (c *Campaign) Begin(ctx context.Context, key string) (*Begun, error) {
	if c.lock == nil {
		return nil, fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	}
	f, err := openRegular(c.folder, begunFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	b := &Begun{file: f, known: map[string]begunEntry{}}
	if !isBegun(f) {
		return nil, errors.Join(foreignBegun(c.dir), b.Close())
	}
	if err := b.read(ctx, key); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err = f.Truncate(b.end); err == nil && b.end == 0 {
		err = b.append(begunLine{Schema: begunSchema, Key: key}, nil)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Forget removes all that was begun, once the enumeration is complete.
func (c *Campaign) Forget() error {
	if c.lock == nil {
		return fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	}
	if _, err := c.folder.Lstat(begunFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := openRegular(c.folder, begunFile, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if !isBegun(f) {
		return foreignBegun(c.dir)
	}
	return c.folder.Remove(begunFile)
}

// begunMark is what the first line of every version of the file begins with.
const begunMark = `{"schema":"colltune.candidates.part/`

// isBegun reports whether a file holds the mark, or as much of it as was written when
// its writer was killed: system crashes leave zeros after that. A damaged byte makes it
// no other's.
func isBegun(f *os.File) bool {
	const damaged = 4
	head := make([]byte, len(begunMark))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	differ := 0
	for i, b := range bytes.TrimRight(head[:n], "\x00") {
		if b != begunMark[i] {
			differ++
		}
	}
	return differ == 0 || differ <= damaged && n == len(begunMark)
}

func foreignBegun(dir string) error {
	return fmt.Errorf("%s: colltune did not write this: move it, or give the campaign another folder", filepath.Join(dir, begunFile))
}

// read takes in the entries of a key, up to the first that is not whole, and skips their
// programs. It fails only if ctx is done: a file that cannot be read has no entries.
func (b *Begun) read(ctx context.Context, key string) error {
	info, err := b.file.Stat()
	if err != nil {
		return nil
	}
	size := min(info.Size(), maxBegun)
	for from := (*bufio.Reader)(nil); ctx.Err() == nil; {
		if from == nil {
			from = bufio.NewReader(io.NewSectionReader(b.file, b.end, size-b.end))
		}
		line, n, err := lineOf(from, b.first, maxBegunLines-b.lines)
		at := b.end + n
		switch {
		case err != nil || line.Bytes < 0 || line.Bytes > size-at || (line.Bytes > 0) != (line.Program != ""):
			return nil
		case b.end == 0 && (line.Schema != begunSchema || line.Key != key):
			return nil
		}
		b.took(line, n, at)
		if skip := line.Bytes; skip > int64(from.Buffered()) {
			from = nil // begin behind it
		} else if _, err := from.Discard(int(skip)); err != nil {
			return nil
		}
	}
	return ctx.Err()
}

// took notes an entry of the file, given its line's length and where the line ends.
func (b *Begun) took(line begunLine, n, at int64) {
	if b.end == 0 {
		b.first = line.Sum
	} else {
		b.known[line.Name] = begunEntry{line.Note, line.Program, at, line.Bytes}
	}
	b.lines += n
	b.end = at + line.Bytes
}

var errChanged = errors.New("checksum does not match")

// lineOf reads a line of at most so many bytes, and returns its length. after is the
// checksum of the first line; empty for that line itself.
func lineOf(r *bufio.Reader, after string, most int64) (line begunLine, n int64, err error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case int64(len(text)) > most:
			return line, 0, ErrTooLarge
		case err == nil:
			body, sum, ok := unsealed(text)
			if !ok || sum != sumOf(after, body) {
				return line, 0, errChanged
			}
			return line, int64(len(text)), json.Unmarshal(text, &line)
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, 0, err
		}
	}
}

// Close closes the file, and leaves it there.
func (b *Begun) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return nil
	}
	err := b.file.Close()
	b.file = nil
	return err
}

// Known gives what was kept under a name: the note, and the program if there is
// one. ok is false if nothing was kept, or it is not what its entry says.
func (b *Begun) Known(name string, note any) (p *ir.Program, hash string, ok bool) {
	b.mu.Lock()
	entry, ok := b.known[name]
	file := b.file
	b.mu.Unlock()
	if !ok || file == nil || json.Unmarshal(entry.note, note) != nil {
		return nil, "", false
	}
	if entry.program == "" {
		return nil, "", true
	}
	packed, err := gzip.NewReader(bufio.NewReader(io.NewSectionReader(file, entry.at, entry.bytes)))
	if err != nil {
		return nil, "", false
	}
	p, err = ir.Decode(io.LimitReader(packed, maxKept))
	if err != nil || p.Hash() != entry.program {
		return nil, "", false
	}
	return p, entry.program, true
}

// Keep adds what was made under a name: a note, and a program with its hash if
// there is one. It does nothing if that is too large, or after Close.
func (b *Begun) Keep(name string, note any, hash string, p *ir.Program) error {
	raw, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return b.append(begunLine{Name: name, Note: raw, Program: hash}, p)
}

func (b *Begun) append(line begunLine, p *ir.Program) error {
	var program bytes.Buffer
	if p != nil {
		packed, err := gzip.NewWriterLevel(&program, gzip.BestSpeed)
		if err != nil {
			return err
		}
		if err := errors.Join(ir.Encode(packed, p), packed.Close()); err != nil {
			return err
		}
		line.Bytes = int64(program.Len())
	}
	object, err := json.Marshal(line)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	text, sum := sealed(b.first, object)
	line.Sum = sum
	n := int64(len(text))
	if b.file == nil || b.end+n+line.Bytes > maxBegun || b.lines+n > maxBegunLines {
		return nil
	}
	if _, err := b.file.WriteAt(append(text, program.Bytes()...), b.end); err != nil {
		return err
	}
	b.took(line, n, b.end+n)
	return nil
}
