package export

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// Runtime is a runtime that colltune can export to.
type Runtime struct {
	Name   string
	Export Options // of an export to it, without the folder
	reader
}

// reader describes which files a runtime loads, and what it runs of them.
type reader interface {
	// Runs returns the reason for which the runtime would not run a trial's program as
	// the trial did, with elements of elem bytes; "" if it would, provided that it
	// accepts the program.
	Runs(t *results.Trial, elem int64) string
	// Accepts returns the reason for which the runtime would not load a program; "" if
	// it would.
	Accepts(p *ir.Program, protocol string) string
	// Computes returns the reason for which no program computes this operation on this
	// type in the runtime; "" if one can.
	Computes(op, dtype string) string
	// Tile returns the tile in bytes that the runtime uses with a protocol, or 0 if it
	// lacks the protocol. If any is set, a file may name any tile.
	Tile(protocol string) (tile int64, any bool)

	files() int                                                 // most files that it loads
	fileKey(t *results.Trial) fileKey                           // of a file for a trial
	loaded(p *ir.Program, protocol string) (*ir.Program, error) // as it reads it from its file
	tileAt(t *results.Trial, bytes int64) int64                 // with which it runs a trial's file at a size
	granularity(t *results.Trial) int64                         // the runtime takes a trial's file for multiples of it
	passes(t *results.Trial, bytes int64) bool                  // it ignores a trial's file at a size in the file's range
}

// Runtimes lists the runtimes: the readers of MSCCL XML, then MSCCL++.
func Runtimes() []Runtime {
	var all []Runtime
	for _, r := range xmlReaders() {
		all = append(all, Runtime{r.Name, Options{To: "msccl-xml", Runtime: r.Name}, r})
	}
	return append(all, Runtime{mscclpp.Name, Options{To: "mscclpp-json"}, planReader{}})
}

// RuntimeNames lists the names of Runtimes, in their order.
func RuntimeNames() []string {
	return lists.Map(Runtimes(), func(r Runtime) string { return r.Name })
}

// RuntimeNamed returns one of Runtimes, or an error that lists the names.
func RuntimeNamed(name string) (Runtime, error) {
	all := Runtimes()
	if i := slices.IndexFunc(all, func(r Runtime) bool { return r.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Runtime{}, fmt.Errorf("unknown runtime %q: want one of %s", name, strings.Join(RuntimeNames(), ", "))
}

// Readers returns the protocols under which each runtime, by name, would load a program.
// The program is lowered once for all of them.
func Readers(p *ir.Program) map[string][]string {
	protocols := map[string][]string{}
	for _, name := range msccl.Readers(p) {
		protocols[name] = ir.Protocols
	}
	for _, protocol := range ir.Protocols {
		if (planReader{}).Accepts(p, protocol) == "" {
			protocols[mscclpp.Name] = append(protocols[mscclpp.Name], protocol)
		}
	}
	return protocols
}

// Files returns the number of files that the runtime loads at most.
func (r Runtime) Files() int { return r.files() }

// Loads returns the reason for which the runtime would run a program for a campaign's
// calls at no size; "" if it would.
func (r Runtime) Loads(p *ir.Program, protocol string, plan results.Plan) string {
	return loads(r.reader, p, protocol, plan)
}

func loads(r reader, p *ir.Program, protocol string, plan results.Plan) string {
	if why := r.Computes(operation(p.Collective, plan.Op), plan.DType); why != "" {
		return why
	}
	if x, ok := r.(xmlReader); ok && !slices.Contains(plan.Flags, results.Flag{Name: "protocol", Value: protocol}) {
		if why := x.corrupts(protocol, plan); why != "" {
			return fmt.Sprintf("%s: a search with --protocol %s is exported all the same", why, protocol)
		}
	}
	return r.Accepts(p, protocol)
}

// corrupts returns the fault of the runtime's kernels of a protocol on a campaign's system; ""
// where none is known.
func (r xmlReader) corrupts(protocol string, plan results.Plan) string {
	return msccl.Corrupts(r.Name, protocol, func() string {
		t, err := topologies.FromText(plan.Topology.Name, plan.Topology.Text, topologies.Options{Nodes: plan.Topology.Nodes})
		if err != nil {
			return "" // of another version; what it is of is not known
		}
		return t.Arch
	})
}

// operation returns the reduction of a collective's calls. To a runtime, collectives that
// reduce nothing are the same as sums.
func operation(s collective.Spec, op string) string {
	if c, err := collective.New(s); err == nil && c.Reduces() {
		return op
	}
	return "sum"
}

// Why a native algorithm or a setting is not exported.
const (
	noProgram     = "it is an algorithm of the library's own, and has no program"
	noneOfSetting = "the winner is a setting of the library's own, and has no program"
)

// lacksProgram is that of a trial without a program.
func lacksProgram(t *results.Trial) string {
	if t.IsSetting() {
		return noneOfSetting
	}
	return noProgram
}

// xmlReader is a runtime that reads MSCCL XML. It runs a program only where the
// program's chunks divide the call's elements, and always with its own tile.
type xmlReader struct{ *msccl.Runtime }

func xmlReaders() (all []xmlReader) {
	for _, name := range msccl.Runtimes() {
		if row, err := msccl.Lookup(name); err == nil {
			all = append(all, xmlReader{row})
		}
	}
	return all
}

func (r xmlReader) Runs(t *results.Trial, elem int64) string {
	if t.IsNative() {
		return lacksProgram(t)
	}
	if t.Bytes%t.Granularity != 0 {
		return fmt.Sprintf("its %d chunks do not divide %d elements", t.LoopChunks, t.Bytes/elem)
	}
	if own := r.Tiles[t.Protocol]; !SameTile(ChunkBytes(t.Bytes, elem, t.LoopChunks), t.MaxCount, t.TileBytes, own) {
		return fmt.Sprintf("it was measured with tile %s, and %s uses %s", units.Bytes(t.TileBytes).String(), r.Name, units.Bytes(own).String())
	}
	return ""
}

func (r xmlReader) files() int { return r.MaxAlgorithms }

// fileKey leaves out the tile, since the runtime uses its own.
func (r xmlReader) fileKey(t *results.Trial) fileKey { return fileKey{t.Program, t.Protocol, 0} }

// loaded is the program of an XML file, which may have steps of its own for what the format
// can't say in one.
func (r xmlReader) loaded(p *ir.Program, protocol string) (*ir.Program, error) {
	var text bytes.Buffer
	if err := msccl.Write(&text, p, msccl.WriteOptions{Runtime: r.Name, Protocol: protocol, MaxBytes: 1, InPlace: p.Collective.InPlace, OutOfPlace: !p.Collective.InPlace, Name: "loaded"}); err != nil {
		return nil, err
	}
	file, err := msccl.Read(&text)
	if err != nil {
		return nil, err
	}
	read, _, err := file.Program(p.Collective.InPlace)
	return read, err
}

func (r xmlReader) tileAt(t *results.Trial, _ int64) int64 { return r.Tiles[t.Protocol] }

func (r xmlReader) granularity(t *results.Trial) int64 { return t.Granularity }

func (r xmlReader) passes(t *results.Trial, bytes int64) bool { return bytes%t.Granularity != 0 }

func (r xmlReader) Accepts(p *ir.Program, protocol string) string {
	if ok, why := msccl.Accepts(p, r.Name, protocol); !ok {
		return strings.Join(why, "; ")
	}
	return ""
}

// Computes refuses averages, for which these runtimes use no programs.
func (r xmlReader) Computes(op, _ string) string {
	if op == "avg" {
		return fmt.Sprintf("for avg %s runs its own algorithms, and no program", r.Name)
	}
	return ""
}

func (r xmlReader) Tile(protocol string) (int64, bool) { return r.Tiles[protocol], false }

// lacks returns a message that the runtime lacks the collective, with those that have it;
// "" if it has it.
func (r xmlReader) lacks(coll string) string {
	name := coll
	if !slices.Contains(collective.Names(), coll) {
		coll = "custom"
	}
	if _, ok := r.Collectives[coll]; ok {
		return ""
	}
	others := []string{}
	for _, other := range xmlReaders() {
		if _, ok := other.Collectives[coll]; ok {
			others = append(others, other.Name)
		}
	}
	if len(others) == 0 {
		return fmt.Sprintf("no runtime that reads MSCCL XML has %s", name)
	}
	return fmt.Sprintf("%s has no %s: of the runtimes that read MSCCL XML %s can be given it", r.Name, name, strings.Join(others, ", "))
}

// planReader is MSCCL++, which reads any number of execution plans: the caller chooses one,
// and a plan refuses sizes that it is not for.
type planReader struct{ irReader }

// planTypes are the element types for which MSCCL++ has kernels.
var planTypes = []string{"bf16", "f16", "f32", "i32", "u32", "u8"}

func (r planReader) Runs(t *results.Trial, _ int64) string {
	switch {
	case t.IsNative():
		return lacksProgram(t)
	case !slices.Contains(mscclpp.Protocols(), t.Protocol):
		return fmt.Sprintf("protocol %s: plans have %s", t.Protocol, strings.Join(mscclpp.Protocols(), " and "))
	case t.Bytes%(int64(t.LoopChunks)*mscclpp.Alignment) != 0:
		return fmt.Sprintf("its %d chunks are no multiples of %d bytes", t.LoopChunks, mscclpp.Alignment)
	case r.tileAt(t, t.Bytes) != t.TileBytes:
		return fmt.Sprintf("it was measured with tile %s, and packets of a plan move whole chunks of %s", units.Bytes(t.TileBytes).String(), units.Bytes(t.Bytes/int64(t.LoopChunks)).String())
	}
	return ""
}

// fileKey leaves out the tile of packets, which have none.
func (planReader) fileKey(t *results.Trial) fileKey {
	if t.Protocol == "Simple" {
		return fileKey{t.Program, t.Protocol, t.TileBytes}
	}
	return fileKey{t.Program, t.Protocol, 0}
}

// tileAt is at least a chunk with packets, which are not sent in tiles.
func (planReader) tileAt(t *results.Trial, bytes int64) int64 {
	if t.Protocol == "Simple" {
		return t.TileBytes
	}
	return max(t.TileBytes, bytes/int64(t.LoopChunks))
}

func (planReader) granularity(t *results.Trial) int64 {
	return int64(t.LoopChunks) * mscclpp.Alignment
}

func (planReader) Accepts(p *ir.Program, protocol string) string {
	return strings.Join(mscclpp.Lacks(p, "", protocol), "; ")
}

// Computes refuses all reductions but the one that its kernel has.
func (planReader) Computes(op, dtype string) string {
	switch {
	case op != "sum":
		return fmt.Sprintf("%s sums, whatever a plan says", mscclpp.Name)
	case !slices.Contains(planTypes, dtype):
		return fmt.Sprintf("%s has no %s: it has %s", mscclpp.Name, dtype, strings.Join(planTypes, ", "))
	}
	return ""
}
