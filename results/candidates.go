package results

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/atomicfile"
)

// The file that keeps an enumeration's result: an index, then the programs that it
// names.
const (
	candidatesFile   = "candidates.tar.gz"
	candidatesSchema = "colltune.candidates/v1"
	indexEntry       = "index.json"
)

// Limits of what is kept and read back: bytes of the index and of a program, how
// many programs, and bytes in all.
const (
	maxIndex      = 64 << 20
	maxKept       = 256 << 20
	maxAllKept    = 4 << 30
	maxCandidates = 1 << 16
)

// ErrOtherCandidates says that what was kept is of another plan or was made by
// another build.
var ErrOtherCandidates = errors.New("candidates of another search")

// ErrTooLarge says that an enumeration's result is too large to keep.
var ErrTooLarge = errors.New("too large to be kept")

// candidatesIndex is the first entry of the file.
type candidatesIndex struct {
	Schema   string          `json:"schema"`
	Key      string          `json:"key"`
	Programs []string        `json:"programs"` // hashes, in the order of their entries
	Index    json.RawMessage `json:"index"`
}

// Hash covers all of a plan that a search's answer depends on.
func (p Plan) Hash() string {
	p.Version = ""
	sum := sha256.Sum256(p.encode())
	return hex.EncodeToString(sum[:])
}

// SaveCandidates keeps the result of an enumeration under a key: an index, whose
// form is the caller's, and verified programs with their hashes. It replaces what
// was kept before, whole or not at all.
func (c *Campaign) SaveCandidates(key string, index any, hashes []string, programs []*ir.Program) error {
	if c.lock == nil {
		return fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	}
	raw, err := json.Marshal(index)
	if err != nil {
		return err
	}
	head, err := json.Marshal(candidatesIndex{candidatesSchema, key, hashes, raw})
	if err != nil {
		return err
	}
	if len(head) > maxIndex || len(hashes) > maxCandidates {
		return fmt.Errorf("campaign %s: %d candidates: %w", c.dir, len(hashes), ErrTooLarge)
	}
	return atomicfile.WriteIn(c.folder, candidatesFile, 0o644, func(w io.Writer) error {
		// The quickest level is enough, because programs repeat themselves so
		// much.
		packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		files := tar.NewWriter(packed)
		add := func(name string, text []byte) error {
			if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
				return err
			}
			_, err := files.Write(text)
			return err
		}
		if err := add(indexEntry, head); err != nil {
			return err
		}
		var text bytes.Buffer
		room := int64(maxAllKept)
		for i, hash := range hashes {
			text.Reset()
			if err := ir.Encode(&text, programs[i]); err != nil {
				return err
			}
			if room -= int64(text.Len()); room < 0 || text.Len() > maxKept {
				return fmt.Errorf("program %s of %d bytes: %w", ShortHash(hash), text.Len(), ErrTooLarge)
			}
			if err := add(programsDir+"/"+hash+".json", text.Bytes()); err != nil {
				return err
			}
		}
		return errors.Join(files.Close(), packed.Close())
	})
}

// Candidates reads what was kept under a key: it decodes the index into index, and
// returns the programs by hash, each checked against its hash, jobs at a time. If
// nothing is kept the error wraps fs.ErrNotExist; if another key's is,
// ErrOtherCandidates. Once ctx is done it reads no further.
func (c *Campaign) Candidates(ctx context.Context, key string, index any, jobs int) (map[string]*ir.Program, error) {
	f, err := openRegular(c.folder, candidatesFile, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	programs, err := readCandidates(ctx, f, key, index, jobs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", candidatesFile, err)
	}
	return programs, nil
}

func readCandidates(ctx context.Context, r io.Reader, key string, index any, jobs int) (map[string]*ir.Program, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(packed)
	head, err := readIndex(files, key)
	if err != nil {
		return nil, err
	}
	programs, err := readPrograms(ctx, files, head.Programs, jobs)
	if err != nil {
		return nil, err
	}
	// Read to the end: the checksum comes last.
	if _, err := files.Next(); err != io.EOF {
		return nil, errors.Join(errors.New("more files than its index names"), err)
	}
	if n, err := packed.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return nil, errors.Join(errors.New("more after its last program"), err)
	}
	if err := json.Unmarshal(head.Index, index); err != nil {
		return nil, fmt.Errorf("%s: %w", indexEntry, err)
	}
	return programs, nil
}

// readIndex reads the first entry, which must be of that key.
func readIndex(files *tar.Reader, key string) (*candidatesIndex, error) {
	text, err := entry(files, indexEntry, maxIndex)
	if err != nil {
		return nil, err
	}
	var head candidatesIndex
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s: %w", indexEntry, err)
	}
	switch {
	case head.Schema != candidatesSchema:
		return nil, fmt.Errorf("%s: schema %.80q: want %q", indexEntry, head.Schema, candidatesSchema)
	case head.Key != key:
		return nil, ErrOtherCandidates
	case len(head.Programs) > maxCandidates:
		return nil, fmt.Errorf("%s: %d programs: want at most %d", indexEntry, len(head.Programs), maxCandidates)
	}
	return &head, nil
}

// readPrograms reads the entries of these programs one after the other, and decodes
// them jobs at a time.
func readPrograms(ctx context.Context, files *tar.Reader, hashes []string, jobs int) (map[string]*ir.Program, error) {
	list := make([]*ir.Program, len(hashes))
	var group errgroup.Group
	group.SetLimit(max(jobs, 1))
	room := int64(maxAllKept)
	for i, hash := range hashes {
		name := programsDir + "/" + hash + ".json"
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		text, err := entry(files, name, min(maxKept, room))
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		room -= int64(len(text))
		group.Go(func() error {
			p, err := ir.Decode(bytes.NewReader(text))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if got := p.Hash(); got != hash {
				return fmt.Errorf("%s: holds program %s", name, ShortHash(got))
			}
			list[i] = p
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	programs := make(map[string]*ir.Program, len(list))
	for i, hash := range hashes {
		programs[hash] = list[i]
	}
	return programs, nil
}

// keptProgram finds a program among those kept, under whichever key. It is nil if
// it is not there, or does not match its hash.
func (c *Campaign) keptProgram(hash string) *ir.Program {
	f, err := openRegular(c.folder, candidatesFile, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		return nil
	}
	files := tar.NewReader(io.LimitReader(packed, maxAllKept))
	for range maxCandidates {
		header, err := files.Next()
		if err != nil {
			return nil
		}
		if header.Name != programsDir+"/"+hash+".json" || header.Size > maxKept {
			continue
		}
		p, err := ir.Decode(files)
		if err != nil || p.Hash() != hash {
			return nil
		}
		return p
	}
	return nil
}

// entry reads the next file, which must have that name and at most so many bytes.
func entry(files *tar.Reader, name string, most int64) ([]byte, error) {
	header, err := files.Next()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case header.Name != name:
		return nil, fmt.Errorf("%.80q where %s is wanted", header.Name, name)
	case header.Size > most:
		return nil, fmt.Errorf("%s: %d bytes: want at most %d", name, header.Size, most)
	}
	text, err := io.ReadAll(files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}
