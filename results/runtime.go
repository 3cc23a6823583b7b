package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
)

// Runtime is a reader of exported programs, as far as the choice of what to
// export to it goes.
type Runtime struct {
	Name string
	row  *msccl.Runtime
}

// Runtimes lists the readers that there is an export for.
func Runtimes() []Runtime {
	var all []Runtime
	for _, name := range msccl.Runtimes() {
		if row, err := msccl.Lookup(name); err == nil {
			all = append(all, Runtime{name, row})
		}
	}
	return all
}

// RuntimeNamed finds one of Runtimes.
func RuntimeNamed(name string) (Runtime, error) {
	row, err := msccl.Lookup(name)
	return Runtime{name, row}, err
}

// Runs says why the runtime would not run a trial's program as the trial did;
// empty where it would, if it accepts the program. A runtime runs a program
// only where its chunks divide the elements of the call, and always with its
// own tile.
func (r Runtime) Runs(t *Trial, elem int64) string {
	if t.native() {
		return noProgram
	}
	if t.Bytes%t.Granularity != 0 {
		return fmt.Sprintf("its %d chunks do not divide %d elements", t.LoopChunks, t.Bytes/elem)
	}
	if own := r.tile(t.Protocol); !SameTile(ChunkBytes(t.Bytes, elem, t.LoopChunks), t.MaxCount, t.TileBytes, own) {
		return fmt.Sprintf("it was measured with tile %s, and %s uses %s", sizeText(t.TileBytes), r.Name, sizeText(own))
	}
	return ""
}

// Accepts says why the runtime would not load a program; empty where it would.
func (r Runtime) Accepts(p *ir.Program, protocol string) string {
	if ok, why := msccl.Accepts(p, r.Name, protocol); !ok {
		return strings.Join(why, "; ")
	}
	return ""
}

// Loads says why the runtime would not run a program for calls with that
// operation, whatever their size; empty where it would.
func (r Runtime) Loads(p *ir.Program, protocol, op string) string {
	if averages(op, p.Collective) {
		return fmt.Sprintf("for avg %s runs its own algorithms, and no program", r.Name)
	}
	return r.Accepts(p, protocol)
}

// averages tells whether calls of a collective with that operation are averages,
// for which no runtime runs a program.
func averages(op string, s collective.Spec) bool {
	c, err := collective.New(s)
	return op == "avg" && err == nil && c.Reduces()
}

// lacks says that the runtime has no such collective, and which runtimes do;
// empty where it has it.
func (r Runtime) lacks(coll string) string {
	name := coll
	if !slices.Contains(collective.Names(), coll) {
		coll = "custom"
	}
	if _, ok := r.row.Collectives[coll]; ok {
		return ""
	}
	others := []string{}
	for _, other := range Runtimes() {
		if _, ok := other.row.Collectives[coll]; ok {
			others = append(others, other.Name)
		}
	}
	if len(others) == 0 {
		return fmt.Sprintf("no runtime that reads MSCCL XML has %s", name)
	}
	return fmt.Sprintf("%s has no %s: of the runtimes that read MSCCL XML %s can be given it", r.Name, name, strings.Join(others, ", "))
}

// tile is the tile the runtime uses with a protocol.
func (r Runtime) tile(protocol string) int64 { return r.row.Tiles[protocol] }

// files is how many files the runtime keeps.
func (r Runtime) files() int { return r.row.MaxAlgorithms }
