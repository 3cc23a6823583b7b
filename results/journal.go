package results

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/colltune/colltune/internal/safe"
)

// journalVersion is the version of the form of a journal's line. Lines of version 1
// carry no checksum; they are read, and lines of version 2 may follow them.
const journalVersion = 2

// maxLine is the longest line that is read. A trial of a million iterations fits.
const maxLine = 32 << 20

// record is one line of the journal. Exactly one of plan, executor, trial and tally
// is set. The first record with a checksum is a plan.
type record struct {
	Version  int         `json:"v"`
	Plan     *planDigest `json:"plan,omitempty"`
	Executor *Executor   `json:"executor,omitempty"`
	Trial    *Trial      `json:"trial,omitempty"`
	Tally    *Tally      `json:"tally,omitempty"`
	Sum      string      `json:"sum,omitempty"` // see sealed
}

// LineError reports that a file of a campaign can't be read or was changed.
type LineError struct {
	File string // path
	Line int    // from 1; 0: none in particular
	Msg  string
}

// Error gives file:line: message.
func (e *LineError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// journal is the append-only file behind a campaign.
type journal struct {
	file *os.File   // nil: reading only
	plan planDigest // of the plan that the records are about
	journalState
	broken error // why nothing can be appended any more
}

// journalState is the result of reading a journal.
type journalState struct {
	end           int64  // bytes that are whole and synced
	torn          int64  // bytes of a line cut short, found on opening
	unchecksummed int    // lines of version 1, which no checksum covers
	sum           string // of the last line, which the next one follows
	hasPlan       bool   // a record of the plan is there
}

// openJournal reads the journal of a plan and hands each other record to take, whose
// error is about its line. With write, it cuts off a last line that was not
// finished. A journal that does not exist is empty.
func openJournal(folder *os.Root, write bool, plan planDigest, take func(record) error) (*journal, error) {
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR | os.O_CREATE
	}
	f, err := openRegular(folder, journalFile, flags)
	if err != nil {
		if !write && errors.Is(err, fs.ErrNotExist) {
			return &journal{}, nil
		}
		return nil, err
	}
	if write {
		if err := lockJournal(folder, f); err != nil {
			f.Close()
			return nil, err
		}
	}
	to, err := readJournal(f, journalFile, func(r record) error {
		if r.Plan != nil {
			return plan.check(r.Plan)
		}
		return take(r)
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	j := &journal{file: f, plan: plan, journalState: to}
	if !write {
		j.file = nil
		return j, f.Close()
	}
	if err := errors.Join(f.Truncate(j.end), syncDir(folder)); err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// check returns an error if a plan is not the one that the journal was begun with.
func (m planDigest) check(begun *planDigest) error {
	if m.SHA256 == begun.SHA256 {
		return nil
	}
	return &LineError{planFile, begun.firstChangedLine(m), "is not as it was when the search began, and the trials are of that plan; restore the file, or search in another folder (--campaign)"}
}

// readJournal reads records from r, checks their chain, and hands them to take;
// errors call the journal file. The end of what it returns is that of all whole
// lines, and torn is what follows the last line break: only there can a kill have
// left half a line, whatever it looks like.
func readJournal(r io.Reader, file string, take func(record) error) (to journalState, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	older := sha256.New()
	for n := 1; ; n++ {
		line, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF):
			to.torn = int64(len(line))
			if to.unchecksummed > 0 && !to.hasPlan {
				to.sum = truncatedSum(older.Sum(nil))
			}
			return to, nil
		case errors.Is(err, errLineTooLong):
			return to, &LineError{file, n, fmt.Sprintf("line of more than %d bytes", maxLine)}
		case err != nil:
			return to, err
		}
		rec, err := parseRecord(line)
		switch {
		case err != nil:
		case rec.Version == 1 && to.hasPlan:
			err = errors.New("record of version 1 after one of version 2")
		case rec.Version == 1:
			to.unchecksummed++
			older.Write(line)
		default:
			if to.unchecksummed > 0 && !to.hasPlan {
				to.sum = truncatedSum(older.Sum(nil))
			}
			err = to.verifyChain(&rec, line)
		}
		if err == nil {
			err = take(rec)
		}
		if at := (*LineError)(nil); errors.As(err, &at) {
			return to, err // about another file
		}
		if errors.Is(err, errNewerVersion) {
			return to, &LineError{file, n, err.Error()}
		}
		if err != nil {
			return to, &LineError{file, n, err.Error() + "; " + remedy(n)}
		}
		to.end += int64(len(line))
	}
}

// errNewerVersion is wrapped by the error of a line that a later colltune wrote.
var errNewerVersion = errors.New("written by a later colltune")

// remedy says what a user can do about a damaged line.
func remedy(line int) string {
	if line == 1 {
		return "restore the file, or delete it and resume: its trials are then made again"
	}
	return fmt.Sprintf("restore the file, or keep the lines before (head -n %d) and resume: the other trials are then made again", line-1)
}

// verifyChain checks that a record of version 2 is the one that was written after those
// read before it.
func (to *journalState) verifyChain(rec *record, line []byte) error {
	body, sum, ok := splitChecksum(line)
	switch {
	case !ok || sum != rec.Sum:
		return errors.New("record of version 2 that does not end in its checksum")
	case sum != checksum(to.sum, body):
		return errors.New("checksum does not match: this line was changed, or lines before it were removed, added or moved")
	case (rec.Plan != nil) == to.hasPlan:
		return errors.New("want a record of the plan first, and only once")
	}
	to.sum, to.hasPlan = sum, true
	return nil
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
	if form.Version > journalVersion {
		return record{}, fmt.Errorf("record of version %d, %w: this one reads versions 1 to %d", form.Version, errNewerVersion, journalVersion)
	}
	if err != nil {
		return record{}, fmt.Errorf("not a record: %w", err)
	}
	if rec.Version < 1 {
		return record{}, fmt.Errorf("record of version %d: want 1 to %d", rec.Version, journalVersion)
	}
	if rec.Version == 1 && (rec.Sum != "" || rec.Plan != nil) {
		return record{}, errors.New("record of version 1 with a checksum or a plan")
	}
	set := 0
	for _, is := range []bool{rec.Plan != nil, rec.Executor != nil, rec.Trial != nil, rec.Tally != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return record{}, errors.New("want exactly one of plan, executor, trial and tally")
	}
	switch {
	case rec.Trial != nil:
		return rec, rec.Trial.check()
	case rec.Tally != nil:
		return rec, rec.Tally.check()
	case rec.Executor != nil:
		return rec, rec.Executor.check()
	}
	return rec, nil
}

// append writes records at the end and syncs. The first record of all is preceded by
// that of the plan. If that fails, the file is cut back to what was whole; if that
// fails, too, nothing more is written.
func (j *journal) append(records ...record) error {
	if j.broken != nil {
		return j.broken
	}
	if j.file == nil {
		return ErrReadOnly
	}
	if err := j.checkSize(); err != nil {
		return err
	}
	if !j.hasPlan {
		records = append([]record{{Plan: &j.plan}}, records...)
	}
	var buf, one bytes.Buffer
	enc := json.NewEncoder(&one)
	enc.SetEscapeHTML(false)
	sum := j.sum
	for _, r := range records {
		r.Version = journalVersion
		one.Reset()
		if err := enc.Encode(r); err != nil {
			return err
		}
		var line []byte
		line, sum = appendChecksum(sum, safe.JSON(bytes.TrimSpace(one.Bytes())))
		if len(line) > maxLine {
			return fmt.Errorf("record of %d bytes: want at most %d", len(line), maxLine)
		}
		buf.Write(line)
	}
	_, err := j.file.WriteAt(buf.Bytes(), j.end)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		if cut := j.file.Truncate(j.end); cut != nil {
			j.broken = fmt.Errorf("journal ends in an unfinished line: %w", errors.Join(err, cut))
			return j.broken
		}
		return err
	}
	j.end += int64(buf.Len())
	j.sum, j.hasPlan = sum, true
	return nil
}

// checkSize returns an error, for good, if the file is not as long as what was read and
// written: then another process has truncated it or appended to it, and what would be
// written next would not follow what is there.
func (j *journal) checkSize() error {
	if j.file == nil || j.broken != nil {
		return j.broken
	}
	info, err := j.file.Stat()
	if err != nil {
		return nil // writing to it says more
	}
	if info.Size() != j.end {
		j.broken = fmt.Errorf("%s: has %d bytes, where %d were written: something else changed it while the search wrote it", journalFile, info.Size(), j.end)
	}
	return j.broken
}

// reset drops all records. Those that follow are about another plan.
func (j *journal) reset(plan planDigest) error {
	if j.file == nil {
		return ErrReadOnly
	}
	if err := errors.Join(j.file.Truncate(0), j.file.Sync()); err != nil {
		return err
	}
	j.journalState, j.plan = journalState{}, plan
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

// equalJSON reports whether two records would be written alike.
func equalJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
