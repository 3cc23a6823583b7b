package results

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/colltune/colltune/internal/atomicfile"
)

// Create makes a campaign in dir, or goes on with the one there if its plan is the
// same. If the plan is another, it replaces that of a campaign without trials;
// with trials the error is an *OtherPlanError. It is a *LockedError for a folder in use,
// and a *LineError for a damaged one. The plan is on disk before Create returns.
func Create(dir string, p Plan) (*Campaign, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("plan of campaign %s: %w", dir, err)
	}
	made := missingDirs(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("campaign folder: %w", err)
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, openError(dir, err)
	}
	c, err := create(folder, p)
	if err != nil {
		removeDirs(made)
		return nil, err
	}
	c.createdDirs = made
	return c, nil
}

// create is Create in an open folder, which it closes after an error.
func create(folder *os.Root, p Plan) (*Campaign, error) {
	if err := refuseForeign(folder); err != nil {
		folder.Close()
		return nil, err
	}
	held, err := lock(folder)
	if err != nil {
		folder.Close()
		return nil, openError(folder.Name(), err)
	}
	c, err := open(folder, held)
	if errors.Is(err, fs.ErrNotExist) {
		if err = writeWhole(folder, planFile, p.encode()); err == nil {
			c, err = open(folder, held)
		}
		if err == nil {
			c.new = true
		} else {
			removeFiles(folder, journalFile, planFile, lockFile)
		}
	}
	if err != nil {
		return nil, openError(folder.Name(), errors.Join(err, held.Close(), folder.Close()))
	}
	if err := c.adopt(p); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// adopt replaces the plan of a campaign in which nothing was measured, if it is another. With
// trials the error is then an *OtherPlanError.
func (c *Campaign) adopt(p Plan) error {
	diff := c.plan.Diff(p)
	switch {
	case (diff != nil || c.plan.Memory != p.Memory) && c.empty():
		if err := c.replacePlan(p); err != nil {
			return fmt.Errorf("campaign %s: %w", c.dir, err)
		}
	case diff != nil:
		return &OtherPlanError{Dir: c.dir, Diff: diff}
	}
	return nil
}

// Check returns the error with which Create would refuse dir for a plan, without writing
// anything: what is there is another search's, damaged, or no campaign.
func Check(dir string, p Plan) error {
	folder, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return openError(dir, err)
	}
	defer folder.Close()
	c, err := open(folder, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuseForeign(folder)
	case err != nil:
		return openError(dir, err)
	}
	if diff := c.plan.Diff(p); diff != nil && !c.empty() {
		return &OtherPlanError{Dir: dir, Diff: diff}
	}
	return nil
}

// missingDirs lists the folders that must be made before dir exists, innermost first.
func missingDirs(dir string) (folders []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return folders
		}
		folders = append(folders, dir)
		dir = filepath.Dir(dir)
	}
}

// Open opens the campaign in dir for writing. The error is a *LockedError if another
// process writes to it, a *LineError if its plan or journal was changed, and wraps
// fs.ErrNotExist if there is no campaign.
func Open(dir string) (*Campaign, error) {
	if err := checkPresent(dir); err != nil {
		return nil, err
	}
	return openAt(dir, true)
}

// OpenReadOnly reads the campaign in dir as it is now, while another process may be
// writing to it. It changes nothing. Errors are Open's, but never a *LockedError.
func OpenReadOnly(dir string) (*Campaign, error) {
	if err := checkPresent(dir); err != nil {
		return nil, err
	}
	return openAt(dir, false)
}

func openAt(dir string, write bool) (*Campaign, error) {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, openError(dir, err)
	}
	return openFolder(folder, write)
}

// openFolder opens the campaign in a folder, which it closes after an error.
func openFolder(folder *os.Root, write bool) (c *Campaign, err error) {
	var held *os.File // closing none does nothing
	if write {
		held, err = lock(folder)
	}
	if err == nil {
		c, err = open(folder, held)
	}
	if err != nil {
		held.Close()
		folder.Close()
		return nil, openError(folder.Name(), err)
	}
	return c, nil
}

// open reads the folder. held is its lock, or nil for reading only.
func open(folder *os.Root, held *os.File) (*Campaign, error) {
	text, err := readLimited(folder, planFile)
	if err != nil {
		return nil, err
	}
	plan, err := parsePlan(string(text))
	if err != nil {
		return nil, &LineError{planFile, 0, err.Error()}
	}
	c := &Campaign{dir: folder.Name(), folder: folder, plan: plan.normal(), lock: held, trials: map[string]*Trial{}, executors: map[string]bool{}, programs: map[string]bool{}}
	// A journal with checksums says first which line of the plan was changed.
	wrong := plan.check()
	if wrong != nil {
		wrong = &LineError{planFile, 0, wrong.Error()}
	}
	c.journal, err = openJournal(folder, held != nil, digestPlan(text), func(r record) error {
		if wrong != nil {
			return wrong
		}
		if err := c.checkRecord(r); err != nil {
			return err
		}
		c.addRecord(r)
		return nil
	})
	if err = cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	if _, err := folder.Lstat(journalFile); errors.Is(err, fs.ErrNotExist) {
		// A journal is there before the first program is.
		if programs, _ := c.list(programsDir); len(programs) > 0 {
			return nil, &LineError{journalFile, 0, "it is missing, and there are programs: put it back, or resume the search, which makes its trials again"}
		}
		if _, err := folder.Lstat(planFile); err != nil {
			return nil, err // the folder is just being removed
		}
	}
	return c, nil
}

// writeWhole writes a file of a folder, whole or not at all, and returns when it is on disk.
func writeWhole(folder *os.Root, name string, text []byte) error {
	err := atomicfile.WriteIn(folder, name, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return syncDir(folder)
}

func openError(dir string, err error) error {
	var locked *LockedError
	if errors.As(err, &locked) {
		return err
	}
	return fmt.Errorf("campaign %s: %w", dir, err)
}

// refuseForeign keeps campaigns out of folders that hold something else.
func refuseForeign(folder *os.Root) error {
	entries, err := list(folder, ".")
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
		return fmt.Errorf("campaign folder %s: holds %s and no %s; give an empty or a new folder", folder.Name(), e.Name(), planFile)
	}
	return nil
}

// checkRecord refuses a trial that the plan and the records before it contradict.
func (c *Campaign) checkRecord(r record) error {
	t := r.Trial
	if t == nil {
		return nil
	}
	switch {
	case !c.executors[t.Fingerprint]:
		return errors.New("trial on an executor that no record before it names")
	case !slices.Contains(c.plan.Sizes, t.Bytes) || !slices.Contains(c.plan.Placements(), t.Placement):
		return fmt.Errorf("trial of %d bytes, placement %s, which the plan does not ask for", t.Bytes, t.Placement)
	case !c.plan.Key(t).is(t.Key):
		return errors.New("key is not that of its trial under this plan: one of them was changed")
	}
	if c.executor.OtherLinks {
		return nil // no bound holds for it
	}
	return c.tally.rejectBelowBound(t)
}

// addRecord enters a journalled record into memory. The first record of a key counts,
// unless its outcome is not final: then a later one replaces it, also in the order.
func (c *Campaign) addRecord(r record) {
	switch {
	case r.Executor != nil:
		c.executor = r.Executor
		c.executors[r.Executor.Hash()] = true
	case r.Tally != nil:
		c.tally = r.Tally
	case r.Trial != nil:
		switch known := c.trials[r.Trial.Key]; {
		case known == nil:
			c.trials[r.Trial.Key] = r.Trial
			c.order = append(c.order, r.Trial)
		case !known.Outcome.Final():
			*known = *r.Trial
			c.order = append(slices.DeleteFunc(c.order, func(t *Trial) bool { return t == known }), known)
		}
	}
}

// replacePlan gives an empty campaign another plan. The journal's records of the old
// one go first, so that a kill in between leaves a campaign that is still empty.
func (c *Campaign) replacePlan(p Plan) error {
	text := p.encode()
	if err := c.journal.reset(digestPlan(text)); err != nil {
		return err
	}
	c.executor, c.tally = nil, nil
	if err := writeWhole(c.folder, planFile, text); err != nil {
		return err
	}
	c.plan = p.normal()
	return nil
}

// Discard closes a campaign. If Create has just made it and no enumeration was
// completed for it, Discard removes it, with the folders made for it; any other
// campaign stays as it is. The error is that of closing or removing it.
func (c *Campaign) Discard() error {
	if !c.new || c.enumerated {
		return c.Close()
	}
	return c.Remove()
}

// Remove closes a campaign. If nothing was measured in it, Remove removes it, with the folders
// that Create made for it; the folder of one that was opened, too. The error is that of closing or removing it.
func (c *Campaign) Remove() error {
	if c.lock == nil || !c.empty() {
		return c.Close()
	}
	moved := c.checkNotMoved() != nil
	for _, name := range []string{programsDir, outputDir} {
		// On a full disk they may have been made for nothing; without a plan beside it,
		// an empty folder would keep every search out.
		if dir, err := c.folder.Lstat(name); err == nil && dir.IsDir() {
			_ = c.folder.Remove(name) // unless others keep files there
		}
	}
	err := c.removeCached(func(string) bool { return true })
	if dir, at := c.folder.Lstat(cacheDir); at == nil && dir.IsDir() {
		_ = c.folder.Remove(cacheDir) // unless others keep files there
	}
	err = errors.Join(err, removeFiles(c.folder, journalFile, planFile, lockFile))
	made := c.createdDirs
	if !c.new { // an earlier run made it
		made = []string{c.dir}
	}
	if !moved {
		removeDirs(made)
	}
	return errors.Join(err, c.Close())
}

// removeFiles removes files of a folder, as far as they are there.
func removeFiles(folder *os.Root, names ...string) (err error) {
	for _, name := range names {
		if gone := folder.Remove(name); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// removeDirs removes folders, innermost first, up to one in which others keep files.
func removeDirs(dirs []string) {
	for _, dir := range dirs {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// empty reports whether nothing was measured in the campaign or kept for it. Such a
// campaign ended before its first trial, for instance over a mistake in a
// template.
func (c *Campaign) empty() bool {
	programs, err := c.list(programsDir)
	return len(c.order) == 0 && len(programs) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist))
}
