package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/internal/atomicfile"
)

// SaveProgram writes the IR with that hash into the campaign, whole or not at all,
// unless it is there. Call it before a trial names the program. The error wraps
// ErrReadOnly, a *MovedError or the system's.
func (c *Campaign) SaveProgram(hash string, p *ir.Program) error {
	if !isHash(hash) {
		return fmt.Errorf("program %.80q: want a hash of 64 hexadecimal digits", hash)
	}
	c.mu.Lock()
	known := c.hasProgram(hash)
	c.mu.Unlock()
	if known {
		return nil
	}
	if c.lock == nil {
		return fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	}
	if err := c.folder.MkdirAll(programsDir, 0o755); err != nil {
		return c.explainProgram(fmt.Errorf("campaign %s: %w", c.dir, err))
	}
	if err := c.saveProgram(hash, func(w io.Writer) error { return ir.Encode(w, p) }); err != nil {
		return err
	}
	c.mu.Lock()
	c.programs[hash] = true
	c.mu.Unlock()
	return nil
}

func (c *Campaign) saveProgram(hash string, content func(io.Writer) error) error {
	err := atomicfile.WriteIn(c.folder, programFile(hash), 0o644, content)
	if err == nil {
		return nil
	}
	return c.explainProgram(fmt.Errorf("program %s of campaign %s: %w", ShortHash(hash), c.dir, err))
}

// explainProgram returns why a program can't be written or read: that the campaign or
// its folder of programs was moved or removed, or that this is a link to elsewhere, or
// else err.
func (c *Campaign) explainProgram(err error) error {
	info, at := c.folder.Lstat(programsDir)
	_, through := c.folder.Stat(programsDir)
	if at == nil && info.Mode()&fs.ModeSymlink != 0 && through != nil && !errors.Is(through, fs.ErrNotExist) {
		return fmt.Errorf("campaign %s: %s is a link that leads out of the folder", c.dir, programsDir)
	}
	explained := c.explainMove(err)
	if c.lock != nil && errors.Is(explained, fs.ErrNotExist) {
		return &MovedError{Dir: c.dir, What: "its folder " + programsDir}
	}
	return explained
}

// programFile is the name of a program's file in the campaign's folder.
func programFile(hash string) string { return filepath.Join(programsDir, hash+".json") }

// hasProgram reports whether the folder holds a program; the caller holds mu.
func (c *Campaign) hasProgram(hash string) bool {
	if c.programs[hash] {
		return true
	}
	if _, err := c.folder.Stat(programFile(hash)); err != nil {
		return false
	}
	c.programs[hash] = true
	return true
}

// ProgramError reports that a program of the campaign is missing or was changed. Err
// names its file.
type ProgramError struct{ Err error }

// Error is Err's.
func (e *ProgramError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ProgramError) Unwrap() error { return e.Err }

// Program reads the IR with that hash, checks it against the hash, the plan and the
// trials, and names it as they do. If its file is gone, it is taken from the cache of
// candidates; if that has none, or the file was changed, the error is a *ProgramError.
func (c *Campaign) Program(hash string) (*ir.Program, error) {
	if !isHash(hash) {
		return nil, fmt.Errorf("program %.80q: want a hash of 64 hexadecimal digits", hash)
	}
	p, err := c.savedProgram(hash)
	if errors.Is(err, fs.ErrNotExist) {
		if kept := c.cachedProgram(hash); kept != nil {
			p, err = kept, nil
		}
	}
	if err == nil {
		err = c.plan.checkCollective(hash, p)
	}
	if err == nil {
		err = c.checkTrialsOf(hash, p)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// checkTrialsOf returns an error if a trial has another granularity than its program,
// which older journals don't protect. It gives the program, whose hash does not cover
// its name, the name that the trials have.
func (c *Campaign) checkTrialsOf(hash string, p *ir.Program) error {
	want := msccl.Granularity(p, c.plan.ElemBytes())
	c.mu.Lock()
	defer c.mu.Unlock()
	named := false
	for _, t := range c.order {
		switch {
		case t.Program != hash:
		case t.Granularity != want:
			return &ProgramError{fmt.Errorf("%s: granularity_bytes %d of %s at %d bytes, where program %s has %d: one of them was changed", filepath.Join(c.dir, journalFile), t.Granularity, t.Algorithm, t.Bytes, ShortHash(hash), want)}
		case !named:
			p.Name, named = t.Algorithm, true
		}
	}
	if c.tally != nil {
		if label, ok := c.tally.Labels[hash]; ok {
			p.Name = label.Algorithm
		}
	}
	return nil
}

// checkCollective returns an error if a program computes another collective than the
// campaign's: then one of them was changed, and its times would be reported for the
// wrong call.
func (p *Plan) checkCollective(hash string, found *ir.Program) error {
	what := func(name string, ranks int) string { return fmt.Sprintf("%s over %d ranks", name, ranks) }
	is, want := what(found.Collective.Name, found.Ranks()), what(p.Collective, p.Topology.Ranks)
	if is == want {
		return nil
	}
	return &ProgramError{fmt.Errorf("program %s is of %s, and %s of %s: one of them was changed", ShortHash(hash), is, planFile, want)}
}

// savedProgram reads a program from its own file.
func (c *Campaign) savedProgram(hash string) (*ir.Program, error) {
	path := filepath.Join(c.dir, programFile(hash))
	f, err := openRegular(c.folder, programFile(hash), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ProgramError{fmt.Errorf("program %s is not in campaign %s: %w", ShortHash(hash), c.dir, err)}
	} else if err != nil {
		return nil, &ProgramError{c.explainProgram(err)}
	}
	defer f.Close()
	p, err := ir.Decode(f)
	if err != nil {
		return nil, &ProgramError{fmt.Errorf("%s: %w", path, err)}
	}
	if got := p.Hash(); got != hash {
		return nil, &ProgramError{fmt.Errorf("%s: holds program %s: the file was changed; restore it, or delete it: it is then read from %s/", path, ShortHash(got), cacheDir)}
	}
	return p, nil
}
