package program

import (
	"sync"

	"github.com/colltune/colltune/constraints/nics"
	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/templates"
)

// holes fills the holes of families on a target's system. What takes long it finds once.
type holes struct {
	target   Target
	families []string // asked for by name
	solvers  *solvers
	blocks   func() *rings.Blocks
	choice   func() (nics.Choice, error)

	mu    sync.Mutex
	rings map[hole]found
}

func newHoles(t Target, families []string, s *solvers) *holes {
	return &holes{target: t, families: families, solvers: s, rings: map[hole]found{},
		blocks: sync.OnceValue(func() *rings.Blocks { return rings.BlocksOf(t.Topology) }),
		choice: sync.OnceValues(func() (nics.Choice, error) { return nics.Choose(t.Topology) })}
}

// question is what a filler has to find.
type question struct {
	family *templates.Family
	count  int  // number of lists
	open   bool // the family also applies with the hole left open
}
