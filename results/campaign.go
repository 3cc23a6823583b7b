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

// ErrReadOnly is what writing to a campaign opened with OpenReadOnly gives.
var ErrReadOnly = errors.New("campaign opened for reading only")

// Campaign is an open campaign folder. Its methods may be called from several
// goroutines at once.
type Campaign struct {
	dir  string
	plan Plan
	lock *os.File // nil: reading only
	made []string // the folders that Create made for it, the innermost first
	new  bool     // Create wrote its plan

	mu       sync.Mutex
	journal  *journal
	trials   map[string]*Trial // by key
	order    []*Trial          // as journalled
	executor *Executor         // the last one named
	tally    *Tally            // the last one written
	programs map[string]bool   // known to be in the folder
}

// Create makes a campaign in dir, or goes on with the one there where its plan
// is the same. Another plan takes the place of one that has no trials, and is an
// *OtherPlanError beside any; a folder in use is a *LockedError. The plan is on disk before Create returns.
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

// missing are the folders that are to be made for dir to be there.
func missing(dir string) (folders []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return folders
		}
		folders = append(folders, dir)
		dir = filepath.Dir(dir)
	}
}

// Discard closes a campaign that came to nothing: that Create has just made, and
// for which nothing was enumerated to its end. What was made for it is gone then,
// folders too; any other campaign stays as it is.
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

// empty tells whether nothing was measured in the campaign, nor anything saved
// to be: it ended before its first trial, as over a mistake in a template.
func (c *Campaign) empty() bool {
	programs, err := os.ReadDir(filepath.Join(c.dir, programsDir))
	return len(c.order) == 0 && len(programs) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// replan gives an empty campaign another plan. What the journal says of the
// old one goes first: a kill in between leaves a campaign that is empty still.
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

// Open opens the campaign in dir for writing. A folder without a campaign is
// an error that wraps fs.ErrNotExist.
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

// refuseForeign keeps a campaign out of a folder that holds something else.
func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("campaign folder: %w", err)
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == planFile }) {
		return nil
	}
	for _, e := range entries {
		// What a run killed while it wrote its plan leaves behind.
		if e.Name() == lockFile || len(e.Name()) > 0 && e.Name()[0] == '.' {
			continue
		}
		return fmt.Errorf("campaign folder %s: holds %s and no %s; give an empty or a new folder", dir, e.Name(), planFile)
	}
	return nil
}

// open reads the folder; held is its lock, or nil to read only.
func open(dir string, held *os.File) (*Campaign, error) {
	plan, err := readPlan(filepath.Join(dir, planFile))
	if err != nil {
		return nil, err
	}
	c := &Campaign{dir: dir, plan: plan, lock: held, trials: map[string]*Trial{}, programs: map[string]bool{}}
	c.journal, err = openJournal(filepath.Join(dir, journalFile), held != nil, c.take)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// take enters a record that is in the journal into memory. The first record of
// a key holds, unless its outcome is not final: then a later one takes its
// place.
func (c *Campaign) take(r record) {
	switch {
	case r.Executor != nil:
		c.executor = r.Executor
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

// Plan is what the campaign searches for, as it was written.
func (c *Campaign) Plan() Plan { return c.plan }

// Lookup finds the trial of a key, where it has been made.
func (c *Campaign) Lookup(key string) (Trial, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.trials[key]; t != nil {
		return *t, true
	}
	return Trial{}, false
}

// Append journals trials, synced to disk in one go before it returns. A trial
// whose key is known already is left out, unless what is known is not final;
// one whose program is not in the folder is refused, unless it has none: an
// algorithm of the back end's own.
func (c *Campaign) Append(trials ...Trial) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var records []record
	fresh := map[string]bool{}
	for i := range trials {
		t := trials[i]
		if err := t.check(); err != nil {
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

// SetExecutor journals which back end the trials that follow run on. It
// returns the one before where that was another, and nil where it was the
// same, or the first.
func (c *Campaign) SetExecutor(e Executor) (before *Executor, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.executor
	if before != nil && before.Hash() == e.Hash() {
		return nil, nil
	}
	return before, c.write(record{Executor: &e})
}

// Executor is the back end last named, if any: the one the table is of.
func (c *Campaign) Executor() (Executor, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.executor == nil {
		return Executor{}, false
	}
	return *c.executor, true
}

// SetTally journals what became of the candidates, unless the journal says so
// already.
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

// Tally is what was last said of the candidates, if anything was.
func (c *Campaign) Tally() (Tally, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tally == nil {
		return Tally{}, false
	}
	return *c.tally, true
}

// Finished tells whether the search has run to its end.
func (c *Campaign) Finished() bool {
	t, ok := c.Tally()
	return ok && t.Finished
}

// Trials lists the trials made under the executor last named, in the order of
// the journal, and by the names that the last tally has for their programs.
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

// Torn is how many bytes of an unfinished last line were dropped on opening.
func (c *Campaign) Torn() int64 { return c.journal.torn }

// write journals records and takes them in; the caller holds mu.
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
