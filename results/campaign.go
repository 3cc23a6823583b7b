package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
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
	dir  string
	plan Plan
	lock *os.File // nil: reading only
	made []string // folders that Create made for it, innermost first
	new  bool     // Create wrote its plan

	mu       sync.Mutex
	journal  *journal
	trials   map[string]*Trial // by key
	order    []*Trial          // in the journal's order
	executor *Executor         // the last in the journal
	named    map[string]bool   // all executors in the journal, by their hashes
	tally    *Tally            // the last in the journal
	programs map[string]bool   // known to be in the folder
}

// Create makes a campaign in dir, or goes on with the one there if its plan is the
// same. If the plan is another, it replaces that of a campaign without trials;
// with trials it is an *OtherPlanError. A folder in use is a *LockedError. The
// plan is on disk before Create returns.
func Create(dir string, p Plan) (*Campaign, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("plan of campaign %s: %w", dir, err)
	}
	made := missing(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("campaign folder: %w", err)
	}
	if err := refuseForeign(dir); err != nil {
		return nil, err
	}
	held, err := lock(dir)
	if err != nil {
		return nil, lockError(dir, err)
	}
	c, err := open(dir, held)
	if errors.Is(err, fs.ErrNotExist) {
		if err = writeText(filepath.Join(dir, planFile), p.encode()); err == nil {
			if err = syncDir(dir); err == nil {
				c, err = open(dir, held)
			}
		}
		if err == nil {
			c.new, c.made = true, made
		}
	}
	if err != nil {
		held.Close()
		return nil, fmt.Errorf("campaign %s: %w", dir, err)
	}
	diff := c.plan.Diff(p)
	if diff != nil && c.empty() {
		err := c.replan(p)
		if err == nil {
			return c, nil
		}
		c.Close()
		return nil, fmt.Errorf("campaign %s: %w", dir, err)
	}
	if diff != nil {
		c.Close()
		return nil, &OtherPlanError{Dir: dir, Diff: diff}
	}
	return c, nil
}

// missing lists the folders that must be made before dir exists, innermost first.
func missing(dir string) (folders []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return folders
		}
		folders = append(folders, dir)
		dir = filepath.Dir(dir)
	}
}

// Discard closes a campaign. If Create has just made it and no enumeration was
// completed for it, it is removed, with the folders made for it; any other
// campaign stays as it is.
func (c *Campaign) Discard() error {
	_, err := os.Stat(filepath.Join(c.dir, candidatesFile))
	if !c.new || !c.empty() || !errors.Is(err, fs.ErrNotExist) {
		return c.Close()
	}
	err = nil
	for _, name := range []string{journalFile, planFile, lockFile, begunFile} {
		if gone := os.Remove(filepath.Join(c.dir, name)); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	for _, dir := range c.made {
		if os.Remove(dir) != nil {
			break // others keep files there
		}
	}
	return errors.Join(err, c.Close())
}

// empty tells whether nothing was measured in the campaign or kept for it. Such a
// campaign ended before its first trial, for instance over a mistake in a
// template.
func (c *Campaign) empty() bool {
	programs, err := os.ReadDir(filepath.Join(c.dir, programsDir))
	return len(c.order) == 0 && len(programs) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// replan gives an empty campaign another plan. The journal's records of the old
// one go first, so that a kill in between leaves a campaign that is still empty.
func (c *Campaign) replan(p Plan) error {
	if err := c.journal.clear(); err != nil {
		return err
	}
	c.executor, c.tally = nil, nil
	if err := writeText(filepath.Join(c.dir, planFile), p.encode()); err != nil {
		return err
	}
	if err := syncDir(c.dir); err != nil {
		return err
	}
	plan, err := readPlan(filepath.Join(c.dir, planFile))
	c.plan = plan
	return err
}

// Open opens the campaign in dir for writing. If there is none, the error wraps
// fs.ErrNotExist.
func Open(dir string) (*Campaign, error) {
	if err := present(dir); err != nil {
		return nil, err
	}
	held, err := lock(dir)
	if err != nil {
		return nil, lockError(dir, err)
	}
	c, err := open(dir, held)
	if err != nil {
		held.Close()
		return nil, fmt.Errorf("campaign %s: %w", dir, err)
	}
	return c, nil
}

// OpenReadOnly reads the campaign in dir as it is now, while another process
// may be writing to it. It changes nothing.
func OpenReadOnly(dir string) (*Campaign, error) {
	if err := present(dir); err != nil {
		return nil, err
	}
	c, err := open(dir, nil)
	if err != nil {
		return nil, fmt.Errorf("campaign %s: %w", dir, err)
	}
	return c, nil
}

func lockError(dir string, err error) error {
	var locked *LockedError
	if errors.As(err, &locked) {
		return err
	}
	return fmt.Errorf("campaign %s: %w", dir, err)
}

// refuseForeign keeps campaigns out of folders that hold something else.
func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("campaign folder: %w", err)
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == planFile }) {
		return nil
	}
	for _, e := range entries {
		// Left behind by a run that was killed while it wrote its plan.
		if e.Name() == lockFile || len(e.Name()) > 0 && e.Name()[0] == '.' {
			continue
		}
		return fmt.Errorf("campaign folder %s: holds %s and no %s; give an empty or a new folder", dir, e.Name(), planFile)
	}
	return nil
}

// open reads the folder. held is its lock, or nil for reading only.
func open(dir string, held *os.File) (*Campaign, error) {
	plan, err := readPlan(filepath.Join(dir, planFile))
	if err != nil {
		return nil, err
	}
	c := &Campaign{dir: dir, plan: plan, lock: held, trials: map[string]*Trial{}, named: map[string]bool{}, programs: map[string]bool{}}
	c.journal, err = openJournal(filepath.Join(dir, journalFile), held != nil, func(r record) error {
		if err := c.admit(r); err != nil {
			return err
		}
		c.take(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// admit refuses a trial whose executor was not named before it: no table would
// show what it measured.
func (c *Campaign) admit(r record) error {
	if r.Trial != nil && !c.named[r.Trial.Fingerprint] {
		return errors.New("trial on an executor that no record before it names")
	}
	return nil
}

// take enters a journalled record into memory. The first record of a key counts,
// unless its outcome is not final: then a later one replaces it.
func (c *Campaign) take(r record) {
	switch {
	case r.Executor != nil:
		c.executor = r.Executor
		c.named[r.Executor.Hash()] = true
	case r.Tally != nil:
		c.tally = r.Tally
	case r.Trial != nil:
		switch known := c.trials[r.Trial.Key]; {
		case known == nil:
			c.trials[r.Trial.Key] = r.Trial
			c.order = append(c.order, r.Trial)
		case !known.Outcome.Final():
			*known = *r.Trial
		}
	}
}

// Close ends the use of the folder and drops its lock.
func (c *Campaign) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.journal.close()
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close())
		c.lock = nil
	}
	return err
}

// Dir is the campaign's folder.
func (c *Campaign) Dir() string { return c.dir }

// Plan is what the campaign searches for.
func (c *Campaign) Plan() Plan { return c.plan }

// Lookup finds the trial of a key, if it has been made.
func (c *Campaign) Lookup(key string) (Trial, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.trials[key]; t != nil {
		return *t, true
	}
	return Trial{}, false
}

// Append journals trials, and returns when all are on disk. A trial whose key is
// known is left out, unless the known outcome is not final. A trial whose program
// is not in the folder is refused; algorithms of the back end's own have no
// program.
func (c *Campaign) Append(trials ...Trial) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var records []record
	fresh := map[string]bool{}
	for i := range trials {
		t := trials[i]
		if err := errors.Join(t.check(), c.admit(record{Trial: &t})); err != nil {
			return fmt.Errorf("trial of %s at %d bytes: %w", t.Algorithm, t.Bytes, err)
		}
		if known := c.trials[t.Key]; known != nil && known.Outcome.Final() || fresh[t.Key] {
			continue
		}
		if !t.native() && !c.hasProgram(t.Program) {
			return fmt.Errorf("trial of %s at %d bytes: its program %s is not in the campaign", t.Algorithm, t.Bytes, short(t.Program))
		}
		fresh[t.Key] = true
		records = append(records, record{Trial: &t})
	}
	return c.write(records...)
}

// SetExecutor journals which back end the trials that follow run on. before is the
// previous one if it was another, else nil.
func (c *Campaign) SetExecutor(e Executor) (before *Executor, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.executor
	if before != nil && before.Hash() == e.Hash() {
		return nil, nil
	}
	return before, c.write(record{Executor: &e})
}

// Executor is the back end named last, if any, from whose trials the table is
// made.
func (c *Campaign) Executor() (Executor, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.executor == nil {
		return Executor{}, false
	}
	return *c.executor, true
}

// SetTally journals what became of the candidates, unless that is what the journal
// says already.
func (c *Campaign) SetTally(t Tally) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := t.check(); err != nil {
		return err
	}
	t.Called = c.calledOtherwise(t.Called)
	if c.tally != nil && equalJSON(c.tally, &t) {
		return nil
	}
	return c.write(record{Tally: &t})
}

// Tally is the last tally in the journal, if there is one.
func (c *Campaign) Tally() (Tally, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tally == nil {
		return Tally{}, false
	}
	return *c.tally, true
}

// Finished tells whether the search ran to its end.
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
		if name, ok := c.tally.Called[t.Program]; ok {
			name.call(&trials[len(trials)-1])
		}
	}
	return trials
}

// Torn is how many bytes of a line that was cut short were dropped on opening.
func (c *Campaign) Torn() int64 { return c.journal.torn }

// write journals records and enters them into memory; the caller holds mu.
func (c *Campaign) write(records ...record) error {
	if len(records) == 0 {
		return nil
	}
	if c.lock == nil {
		return fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	}
	if err := c.journal.append(records...); err != nil {
		return fmt.Errorf("campaign %s: %w", c.dir, err)
	}
	for _, r := range records {
		c.take(r)
	}
	return nil
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
