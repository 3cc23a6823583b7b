package results

import (
	"bufio"
	"bytes"
	"compress/gzip"
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

// The file of what an enumeration has come to that is not at its end yet: entries, each
// compressed by itself, of a header line and a program's text or nothing. The first says
// whose they are.
//
//	{"schema":…,"key":…} ┆ {"name":…,"note":…,"ir":…} program ┆ {"name":…,"note":…} ┆ torn …
const (
	begunFile   = "candidates.part"
	begunSchema = "colltune.candidates.part/v1"
)

// maxBegun limits, in compressed bytes, what is kept of an unfinished enumeration.
const maxBegun = 1 << 30

// Begun is what an enumeration has made so far, by name, for a search that was cut
// short to find again. Its methods may be called from several goroutines at once.
type Begun struct {
	mu    sync.Mutex
	file  *os.File // nil: closed
	end   int64    // of the last whole entry
	known map[string][]byte
}

// begunHeader is the first line of an entry.
type begunHeader struct {
	Schema  string          `json:"schema,omitempty"`
	Key     string          `json:"key,omitempty"`
	Name    string          `json:"name,omitempty"`
	Note    json.RawMessage `json:"note,omitempty"`
	Program string          `json:"ir,omitempty"`
}

// Begin opens what was made under a key. Anything made under another key is
// dropped, and so is a torn tail.
func (c *Campaign) Begin(key string) (*Begun, error) {
	if c.lock == nil {
		return nil, fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	}
	f, err := openRegular(filepath.Join(c.dir, begunFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	b := &Begun{file: f, known: map[string][]byte{}}
	b.read(key)
	if err = f.Truncate(b.end); err == nil && b.end == 0 {
		err = b.append(begunHeader{Schema: begunSchema, Key: key}, nil)
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
	if err := os.Remove(filepath.Join(c.dir, begunFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// read takes in the entries of a key, up to the first that is not whole.
func (b *Begun) read(key string) {
	from := &counted{r: bufio.NewReader(io.LimitReader(b.file, maxBegun))}
	for {
		var raw bytes.Buffer
		from.copy = &raw
		packed, err := gzip.NewReader(from)
		if err != nil {
			return
		}
		packed.Multistream(false)
		text := bufio.NewReader(io.LimitReader(packed, maxKept+1))
		head, err := headerOf(text)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, text); err != nil {
			return
		}
		if n, err := packed.Read(make([]byte, 1)); n > 0 || err != io.EOF { // reads the checksum, which comes last
			return
		}
		switch {
		case b.end == 0 && (head.Schema != begunSchema || head.Key != key):
			return
		case b.end > 0:
			b.known[head.Name] = raw.Bytes()
		}
		b.end = from.n
	}
}

func headerOf(r *bufio.Reader) (head begunHeader, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return head, err
	}
	return head, json.Unmarshal(line, &head)
}

// Known gives what was kept under a name: the note, and the program if there is
// one. ok is false if nothing was kept, or it is not what its entry says.
func (b *Begun) Known(name string, note any) (p *ir.Program, hash string, ok bool) {
	b.mu.Lock()
	raw := b.known[name]
	b.mu.Unlock()
	if raw == nil {
		return nil, "", false
	}
	packed, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, "", false
	}
	text := bufio.NewReader(packed) // read once before, and was whole
	head, err := headerOf(text)
	if err != nil || json.Unmarshal(head.Note, note) != nil {
		return nil, "", false
	}
	if head.Program == "" {
		return nil, "", true
	}
	p, err = ir.Decode(text)
	if err != nil || p.Hash() != head.Program {
		return nil, "", false
	}
	return p, head.Program, true
}

// Keep adds what was made under a name: a note, and a program with its hash if
// there is one. It does nothing if that is too large, or after Close.
func (b *Begun) Keep(name string, note any, hash string, p *ir.Program) error {
	raw, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return b.append(begunHeader{Name: name, Note: raw, Program: hash}, p)
}

func (b *Begun) append(head begunHeader, p *ir.Program) error {
	line, err := json.Marshal(head)
	if err != nil {
		return err
	}
	var entry bytes.Buffer
	packed, err := gzip.NewWriterLevel(&entry, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := packed.Write(append(line, '\n')); err != nil {
		return err
	}
	if p != nil {
		if err := ir.Encode(packed, p); err != nil {
			return err
		}
	}
	if err := packed.Close(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil || b.end+int64(entry.Len()) > maxBegun {
		return nil
	}
	if _, err := b.file.WriteAt(entry.Bytes(), b.end); err != nil {
		return err
	}
	b.end += int64(entry.Len())
	return nil
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

// counted counts the bytes that are read through it, and copies them. It has
// ReadByte, without which gzip would read beyond the end of an entry.
type counted struct {
	r    *bufio.Reader
	n    int64
	copy *bytes.Buffer
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.copy.Write(p[:n])
	return n, err
}

func (c *counted) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
		c.copy.WriteByte(b)
	}
	return b, err
}
