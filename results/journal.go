package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// journalVersion is the version of the form of a journal's line.
const journalVersion = 1

// maxLine is the longest line that is read. A trial of a million iterations fits.
const maxLine = 32 << 20

// record is one line of the journal. Exactly one of the three is set.
type record struct {
	Version  int       `json:"v"`
	Executor *Executor `json:"executor,omitempty"`
	Trial    *Trial    `json:"trial,omitempty"`
	Tally    *Tally    `json:"tally,omitempty"`
}

// JournalError is a line of the journal that cannot be read.
type JournalError struct {
	File string
	Line int
	Msg  string
}

func (e *JournalError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

// journal is the append-only file behind a campaign.
type journal struct {
	file *os.File // nil: reading only
	end  int64    // bytes that are whole and synced
	torn int64    // bytes of a line cut short, found on opening
	bad  error    // why nothing can be appended any more
}

// openJournal reads a journal and hands each record to take, whose error is about
// its line. With write, it cuts
// off a last line that was not finished. A journal that does not exist is empty.
func openJournal(path string, write bool, take func(record) error) (*journal, error) {
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR | os.O_CREATE
	}
	f, err := openRegular(path, flags)
	if err != nil {
		if !write && errors.Is(err, fs.ErrNotExist) {
			return &journal{}, nil
		}
		return nil, err
	}
	end, torn, err := readJournal(f, filepath.Base(path), take)
	if err != nil {
		f.Close()
		return nil, err
	}
	j := &journal{file: f, end: end, torn: torn}
	if !write {
		j.file = nil
		return j, f.Close()
	}
	if err := errors.Join(f.Truncate(end), syncDir(filepath.Dir(path))); err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// readJournal reads records from r; errors call it file. It returns the bytes of
// all whole lines, and of what follows the last line break. Only there can a kill
// have left half a line, whatever it looks like.
func readJournal(r io.Reader, file string, take func(record) error) (end, torn int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF):
			return end, int64(len(line)), nil
		case errors.Is(err, errLineTooLong):
			return 0, 0, &JournalError{file, n, fmt.Sprintf("line of more than %d bytes", maxLine)}
		case err != nil:
			return 0, 0, err
		}
		rec, err := parseRecord(line)
		if err == nil {
			err = take(rec)
		}
		if err != nil {
			return 0, 0, &JournalError{file, n, err.Error()}
		}
		end += int64(len(line))
	}
}

var errLineTooLong = errors.New("line too long")

// readLine reads up to the next line break, which it includes; io.EOF comes with
// what was left without one.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, errLineTooLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return line, err
	}
}

// parseRecord reads one line, and accepts nothing unknown.
func parseRecord(line []byte) (record, error) {
	var rec record
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	err := dec.Decode(&rec)
	if errors.Is(err, io.EOF) {
		err = errors.New("empty line")
	}
	if err == nil && len(bytes.TrimSpace(line[dec.InputOffset():])) > 0 {
		err = errors.New("more after its end")
	}
	// A line written by a later version must not be called broken.
	form := struct {
		Version int `json:"v"`
	}{rec.Version}
	if err != nil && json.Unmarshal(line, &form) != nil {
		return record{}, fmt.Errorf("not a record: %w", err)
	}
	if form.Version != journalVersion {
		return record{}, fmt.Errorf("record of version %d: this colltune reads version %d", form.Version, journalVersion)
	}
	if err != nil {
		return record{}, fmt.Errorf("not a record: %w", err)
	}
	switch {
	case rec.Trial != nil && rec.Executor == nil && rec.Tally == nil:
		return rec, rec.Trial.check()
	case rec.Tally != nil && rec.Executor == nil && rec.Trial == nil:
		return rec, rec.Tally.check()
	case rec.Executor != nil && rec.Trial == nil && rec.Tally == nil:
		return rec, rec.Executor.check()
	}
	return record{}, errors.New("want exactly one of executor, trial and tally")
}

// append writes records at the end and syncs. If that fails, the file is cut back
// to what was whole; if that fails, too, nothing more is written.
func (j *journal) append(records ...record) error {
	if j.bad != nil {
		return j.bad
	}
	if j.file == nil {
		return ErrReadOnly
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for _, r := range records {
		r.Version = journalVersion
		start := buf.Len()
		if err := enc.Encode(r); err != nil {
			return err
		}
		if buf.Len()-start > maxLine {
			return fmt.Errorf("record of %d bytes: want at most %d", buf.Len()-start, maxLine)
		}
	}
	_, err := j.file.WriteAt(buf.Bytes(), j.end)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		if cut := j.file.Truncate(j.end); cut != nil {
			j.bad = fmt.Errorf("journal ends in an unfinished line: %w", errors.Join(err, cut))
			return j.bad
		}
		return err
	}
	j.end += int64(buf.Len())
	return nil
}

// clear drops all records.
func (j *journal) clear() error {
	if j.file == nil {
		return ErrReadOnly
	}
	if err := errors.Join(j.file.Truncate(0), j.file.Sync()); err != nil {
		return err
	}
	j.end = 0
	return nil
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}

// equalJSON tells whether two records would be written alike.
func equalJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
