package program

import (
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/results"
)

// Cache holds what building makes, by keys that cover all it depends on: in the
// campaign's folder, for a search that goes on, and in memory, for one that enumerates
// several times under a budget. An entry is a family's grid, a construction's finds, what
// a trace came to, or a draft that was built. A nil cache holds nothing, and has nothing to say.
//
//	key = SHA-256(plan, executor, solver time, memory, this build ∙ placement ∙ source ∙ name)
type Cache struct {
	store  Store // nil: only in memory
	base   string
	repeat bool // the run builds again, and finds here what it made

	mu      sync.Mutex
	made    map[string]any  // by key, where the run repeats
	used    map[string]bool // keys that were asked for
	damaged error           // why the first entry that was there could not be used
	unsaved error           // why no more entries are written
}

// Store is the part of a campaign that keeps the cache's entries.
type Store interface {
	Cached(key string, note any) (*ir.Program, error)
	Cache(key string, note any, hash string, p *ir.Program) error
	Enumerated(used map[string]bool) error
}

// NewCache returns the cache of a store for what depends on a text and on this build; repeat says
// that the run builds several times.
func NewCache(s Store, depends string, repeat bool) *Cache {
	k := &Cache{repeat: repeat, made: map[string]any{}, used: map[string]bool{}}
	if base, err := cacheBase(depends); err != nil {
		k.unsaved = err
	} else {
		k.store, k.base = s, base
	}
	return k
}

// cacheBase identifies all that every entry depends on, this build among it.
func cacheBase(depends string) (string, error) {
	build, err := thisBuild()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(build + depends))
	return hex.EncodeToString(sum[:]), nil
}

// thisBuild identifies the program that runs.
var thisBuild = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return buildOf(path)
})

// buildOf is the build ID of a program, with which Go's linker stands for all that it was made
// of; or else, since not every system's programs have one and it can be left out, a hash of the
// file, which takes some ten times as long.
func buildOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if program, err := elf.NewFile(f); err == nil {
		if note := program.Section(".note.go.buildid"); note != nil {
			if id, err := note.Data(); err == nil && len(id) > 0 {
				return hex.EncodeToString(id), nil
			}
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// cached returns the value of a key that this run or an earlier one made, or else makes
// it. load reads it from the campaign, nil if save did not write the entry; make returns
// nil if there is no time for it.
func cached[T any](c *Cache, key string, load func() (*T, error), make func() (*T, error), save func(*T)) (*T, error) {
	if c == nil {
		return make()
	}
	c.mu.Lock()
	known, ok := c.made[key].(*T)
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	v, err := load()
	if v == nil && err == nil {
		if v, err = make(); v != nil && err == nil {
			save(v)
			c.remember(key, v)
		}
	}
	return v, err
}

// remember holds a value in memory, if the run enumerates again.
func (c *Cache) remember(key string, v any) {
	if c.repeat {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.made[key] = v
	}
}

// load reads an entry of the campaign, and reports whether it is there.
func (c *Cache) load(key string, note any) (*ir.Program, bool) {
	if c == nil || c.store == nil {
		return nil, false
	}
	p, err := c.store.Cached(key, note)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[key] = true
	if err != nil && !errors.Is(err, fs.ErrNotExist) && c.damaged == nil {
		c.damaged = err
	}
	return p, err == nil
}

// save writes an entry to the campaign. What can't be written ends no search: it can be
// made again.
func (c *Cache) save(key string, note any, hash string, p *ir.Program) {
	if c == nil || c.store == nil || c.full() != nil {
		return
	}
	if err := c.store.Cache(key, note, hash, p); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.unsaved == nil {
			c.unsaved = err
		}
	}
}

func (c *Cache) full() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsaved
}

// Enumerated says that all entries of the search are there.
func (c *Cache) Enumerated() {
	if c == nil || c.store == nil {
		return
	}
	if err := c.store.Enumerated(c.used); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unsaved = cmp.Or(c.unsaved, err)
	}
}

// Notices are lines for the user about the cache.
func (c *Cache) Notices() (lines []string) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.damaged != nil {
		lines = append(lines, fmt.Sprintf("candidates are made again: %v", c.damaged))
	}
	if c.unsaved != nil && !errors.Is(c.unsaved, results.ErrReadOnly) {
		lines = append(lines, fmt.Sprintf("candidates are not kept, and a search that goes on makes them again: %v", c.unsaved))
	}
	return lines
}
