package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/colltune/colltune/internal/units"
)

// The files of a campaign.
const (
	planFile    = "campaign.toml"
	journalFile = "trials.jsonl"
	programsDir = "programs"
	lockFile    = "lock"
)

// ErrReadOnly is the error of writing to a campaign that was opened with
// OpenReadOnly.
var ErrReadOnly = errors.New("campaign opened for reading only")

// Campaign is an open campaign folder. Its methods may be called from several
// goroutines at once.
type Campaign struct {
	dir         string
	folder      *os.Root // dir, held open: it may be moved
	plan        Plan
	lock        *os.File // nil: reading only
	createdDirs []string // folders that Create made for it, innermost first
	new         bool     // Create wrote its plan

	mu        sync.Mutex
	journal   *journal
	trials    map[string]*Trial // by key
	order     []*Trial          // in the journal's order
	executor  *Executor         // the last in the journal
	executors map[string]bool   // all executors in the journal, by their hashes
	tally     *Tally            // the last in the journal
	programs  map[string]bool   // known to be in the folder

	cached     atomic.Int64      // bytes of the entries written to the cache of candidates
	candidates map[string]string // keys of the cache's entries by program; nil until it is asked for
	enumerated bool              // all candidates are known
}

// Close closes the folder and releases its lock. Closing again does nothing. The error
// is that of closing the journal.
func (c *Campaign) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.journal.close()
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close())
		c.lock = nil
	}
	return errors.Join(err, c.folder.Close())
}

// Dir returns the path of the campaign's folder, as it was opened.
func (c *Campaign) Dir() string { return c.dir }

// Plan returns the campaign's plan, its lists in a fixed order.
func (c *Campaign) Plan() Plan { return c.plan }

// Lookup returns the journaled trial with a key (Key.Hash), if there is one.
func (c *Campaign) Lookup(key string) (Trial, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.trials[key]; t != nil {
		return *t, true
	}
	return Trial{}, false
}

// Append journals trials, and returns when all are on disk. A trial whose key is known
// is left out, unless the known outcome is not final. The error is about the first
// trial that the plan contradicts or whose program is not in the folder (native
// algorithms have none), or wraps ErrReadOnly, a *MovedError or the system's.
func (c *Campaign) Append(trials ...Trial) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var records []record
	fresh := map[string]bool{}
	for i := range trials {
		t := trials[i]
		if err := errors.Join(t.check(), c.checkRecord(record{Trial: &t})); err != nil {
			return fmt.Errorf("trial of %s at %d bytes: %w", t.Algorithm, t.Bytes, err)
		}
		if known := c.trials[t.Key]; known != nil && known.Outcome.Final() || fresh[t.Key] {
			continue
		}
		if !t.IsNative() && !c.hasProgram(t.Program) {
			return fmt.Errorf("trial of %s at %d bytes: its program %s is not in the campaign", t.Algorithm, t.Bytes, ShortHash(t.Program))
		}
		fresh[t.Key] = true
		records = append(records, record{Trial: &t})
	}
	return c.write(records...)
}

// SetExecutor journals the executor of the trials that follow. before is the previous
// one if its fingerprint differs, so that its trials do not count, else nil. The error
// is that of writing the journal.
func (c *Campaign) SetExecutor(e Executor) (before *Executor, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.executor
	if before != nil && equalJSON(before, &e) {
		return nil, nil
	}
	if before != nil && before.Hash() == e.Hash() {
		before = nil
	}
	return before, c.write(record{Executor: &e})
}

// Executor returns the executor journaled last, whose trials the table is made from.
func (c *Campaign) Executor() (Executor, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.executor == nil {
		return Executor{}, false
	}
	return *c.executor, true
}

// SetTally journals what became of the candidates, unless the journal's last tally is
// the same. The error is about impossible numbers, or that of writing the journal.
func (c *Campaign) SetTally(t Tally) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := t.check(); err != nil {
		return err
	}
	t.Labels = c.changedLabels(t.Labels)
	if c.tally != nil && equalJSON(c.tally, &t) {
		return c.checkNotMoved()
	}
	return c.write(record{Tally: &t})
}

// Tally returns the last tally in the journal, if there is one.
func (c *Campaign) Tally() (Tally, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tally == nil {
		return Tally{}, false
	}
	return *c.tally, true
}

// Finished reports whether the search ran to its end.
func (c *Campaign) Finished() bool {
	t, ok := c.Tally()
	return ok && t.Finished
}

// Trials lists the trials made on the executor named last, in the journal's order,
// under the names that the last tally gives their programs.
func (c *Campaign) Trials() []Trial {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.executor == nil {
		return nil
	}
	fingerprint := c.executor.Hash()
	var trials []Trial
	for _, t := range c.order {
		if t.Fingerprint != fingerprint {
			continue
		}
		trials = append(trials, *t)
		if c.tally == nil {
			continue
		}
		if name, ok := c.tally.Labels[t.Program]; ok {
			name.apply(&trials[len(trials)-1])
		}
	}
	return trials
}

// Remarks returns notes on the journal, a line each: that its last line is unfinished,
// or that some lines carry no checksums.
func (c *Campaign) Remarks() (lines []string) {
	j, file := c.journal, filepath.Join(c.dir, journalFile)
	switch {
	case j.torn > 0 && c.lock != nil:
		lines = append(lines, fmt.Sprintf("%s: the last line was torn by a kill (%d bytes) and is dropped", file, j.torn))
	case j.torn > 0:
		lines = append(lines, fmt.Sprintf("%s: the last line is not finished (%d bytes) and is left out", file, j.torn))
	}
	if j.unchecksummed > 0 {
		lines = append(lines, fmt.Sprintf("%s: warning: %s without checksums, as an older colltune wrote them: changes to them may go unseen", file, units.Count(j.unchecksummed, "line")))
	}
	return lines
}

// write journals records and enters them into memory; the caller holds mu.
func (c *Campaign) write(records ...record) error {
	if len(records) == 0 {
		return nil
	}
	if c.lock == nil {
		return fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	}
	if err := c.journal.append(records...); err != nil {
		return c.explainMove(fmt.Errorf("campaign %s: %w", c.dir, err))
	}
	for _, r := range records {
		c.addRecord(r)
	}
	return c.checkNotMoved()
}

// syncDir makes a rename in dir durable.
func syncDir(folder *os.Root) error {
	d, err := folder.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
