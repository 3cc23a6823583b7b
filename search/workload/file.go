package workload

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/tomlfile"
	"github.com/colltune/colltune/internal/units"
)

// MaxRanks is the most ranks of a step, and the most GPUs of a node.
const MaxRanks = 1 << 20

// Limits on what is read of a step: its file, its ops in all programs, and what they wait for.
const (
	maxBytes = 16 << 20
	maxOps   = 1_000_000
	maxWaits = 32_000_000
)

// Options replace what a step's file says, and say what a trace does not.
type Options struct {
	Ranks      int                // to MaxRanks; 0: the file's
	Parameters map[string]float64 // by name; each must be one of the file's
	NodeGPUs   int                // of a trace: GPUs a node, to MaxRanks; 0: not stated
	DType      string             // of calls that state none
	Matrices   map[string][]int   // counts of vector forms, by the name that traffic gives them
}

// The file's form. Expressions are numbers, or text that evaluate reads.
type (
	stepFile struct {
		Name, Scaling, DType string
		Ranks                any
		NodeGPUs             any `toml:"gpus_per_node"`
		Parameters           map[string]any
		Groups               map[string]groupFile
		Block                []blockFile
	}
	groupFile struct{ Ranks, Stride any }
	blockFile struct {
		Name   string
		Repeat any
		On     []string
		Op     []opFile
	}
	opFile struct {
		Name, Stream, Group, Call, DType, Traffic string
		Compute                                   any `toml:"compute_us"`
		Bytes, SMs                                any
		After                                     *[]string
	}
)

// parser makes a step of a file.
type parser struct {
	step     *Step
	lines    tomlfile.Lines
	file     stepFile
	numbers  map[string]float64
	nodeGPUs int
	groups   map[string]group
	kinds    map[Kind]int
	calls    map[string][]int // by name: the call of each iteration
	programs map[string]*naming
	options  Options
	ops      int // of all programs
}

// group is how many ranks make a call together, how far apart they are, and how many nodes
// they span.
type group struct{ ranks, stride, nodes int }

// naming finds the ops of a program by name.
type naming struct {
	index int // of Step.Programs
	named map[string]placed
	open  []reference
}

// placed is where the iterations of an op stand in a program.
type placed struct{ block, first, stride, repeat int }

// reference is an entry of after, of all iterations of an op, to be found when all ops are
// known.
type reference struct {
	placed
	text, key string
}

// Parse reads a step. Errors about a line are a *measured.Error.
func Parse(file string, text []byte, o Options) (*Step, error) {
	if len(text) > maxBytes {
		return nil, &measured.Error{File: file, Line: 1, Msg: fmt.Sprintf("%d bytes: want at most %d", len(text), maxBytes)}
	}
	p := &parser{
		step: &Step{File: file}, options: o, numbers: map[string]float64{}, groups: map[string]group{},
		kinds: map[Kind]int{}, calls: map[string][]int{}, programs: map[string]*naming{},
	}
	meta, lines, err := tomlfile.Decode(string(text), &p.file)
	p.lines = lines
	if err != nil {
		if at, ok := err.(*tomlfile.Error); ok {
			return nil, &measured.Error{File: file, Line: at.Line, Msg: at.Msg}
		}
		return nil, err
	}
	if err := p.unknownKeys(meta); err != nil {
		return nil, err
	}
	for _, read := range []func(toml.MetaData, Options) error{p.head, p.readGroups, p.readBlocks} {
		if err := read(meta, o); err != nil {
			return nil, err
		}
	}
	return p.step, p.resolve()
}

func (p *parser) errorf(key, format string, args ...any) error {
	return &measured.Error{File: p.step.File, Line: max(1, p.lines.Of(key)), Msg: fmt.Sprintf(format, args...)}
}

// keys are all keys of a step's file.
var keys = strings.Fields("name scaling dtype ranks gpus_per_node parameters groups block stride repeat on op stream group call traffic compute_us bytes sms after")

func (p *parser) unknownKeys(meta toml.MetaData) error {
	unknown := meta.Undecoded()
	if len(unknown) == 0 {
		return nil
	}
	k := unknown[0]
	last := k[len(k)-1]
	line := p.lines.Of(k.String())
	for path, n := range p.lines { // of arrays of tables, the first that has it
		if strings.HasSuffix(path, "."+last) && (line == 0 || n < line || p.lines[k.String()] == 0) {
			line = n
		}
	}
	return &measured.Error{File: p.step.File, Line: line, Msg: fmt.Sprintf("unknown key %.40q%s", last, suggest.DidYouMean(last, keys))}
}

// number evaluates an expression of the file.
func (p *parser) number(key string, v any) (float64, error) {
	switch v := v.(type) {
	case int64:
		return float64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, p.errorf(key, "want a finite number")
		}
		return v, nil
	case string:
		x, err := evaluate(v, p.numbers)
		if err != nil {
			return 0, p.errorf(key, "%v", err)
		}
		return x, nil
	case nil:
		return 0, p.errorf(key, "%s is missing", key[strings.LastIndex(key, ".")+1:])
	}
	return 0, p.errorf(key, "want a number, or an expression in quotes")
}

// whole evaluates an expression that must be a whole number.
func (p *parser) whole(key string, v any, least, most int) (int, error) {
	x, err := p.number(key, v)
	if err == nil && (x != math.Trunc(x) || x < float64(least) || x > float64(most)) {
		err = p.errorf(key, "%v is %s: want a whole number from %d to %d", v, strconv.FormatFloat(x, 'g', 8, 64), least, most)
	}
	return int(x), err
}

// head reads what stands before groups and blocks.
func (p *parser) head(meta toml.MetaData, o Options) (err error) {
	f := &p.file
	p.step.Name, p.step.Scaling = f.Name, f.Scaling
	if f.Name == "" {
		return p.errorf("name", "name is missing")
	}
	if f.Scaling != "" && f.Scaling != "weak" && f.Scaling != "strong" {
		return p.errorf("scaling", "scaling %.40q: want weak or strong", f.Scaling)
	}
	if p.step.Ranks = o.Ranks; o.Ranks == 0 {
		if p.step.Ranks, err = p.whole("ranks", f.Ranks, 1, MaxRanks); err != nil {
			return err
		}
	}
	p.numbers["ranks"] = float64(p.step.Ranks)
	for _, k := range meta.Keys() { // in the file's order, so that one may use those before it
		if len(k) != 2 || k[0] != "parameters" {
			continue
		}
		if k[1] == "ranks" || k[1] == "min" || k[1] == "max" {
			return p.errorf(k.String(), "%s is no parameter's name: it has a meaning of its own", k[1])
		}
		v, err := p.number(k.String(), f.Parameters[k[1]])
		if err != nil {
			return err
		}
		if given, there := o.Parameters[k[1]]; there {
			v = given
		}
		p.numbers[k[1]] = v
	}
	for name := range o.Parameters {
		if _, there := f.Parameters[name]; !there {
			return p.errorf("parameters", "has no parameter %.40q%s", name, suggest.DidYouMean(name, slices.Sorted(maps.Keys(f.Parameters))))
		}
	}
	if f.NodeGPUs != nil {
		if p.nodeGPUs, err = p.whole("gpus_per_node", f.NodeGPUs, 1, MaxRanks); err != nil {
			return err
		}
		if most := min(p.nodeGPUs, p.step.Ranks); p.step.Ranks%most != 0 {
			return p.errorf("gpus_per_node", "%d ranks are not divided by %d GPUs a node", p.step.Ranks, p.nodeGPUs)
		}
	}
	return nil
}

// readGroups reads [groups.NAME]; all is the group of all ranks.
func (p *parser) readGroups(toml.MetaData, Options) (err error) {
	p.groups["all"] = group{p.step.Ranks, 1, nodesOf(p.step.Ranks, 1, p.nodeGPUs)}
	for _, name := range slices.Sorted(maps.Keys(p.file.Groups)) {
		f, key := p.file.Groups[name], "groups."+tomlfile.Key(name)
		ranks, stride := 0, 1
		if ranks, err = p.whole(key+".ranks", f.Ranks, 1, MaxRanks); err != nil {
			return err
		}
		if f.Stride != nil {
			if stride, err = p.whole(key+".stride", f.Stride, 1, MaxRanks); err != nil {
				return err
			}
		}
		if p.step.Ranks%(ranks*stride) != 0 {
			return p.errorf(key+".ranks", "group %s of %d ranks, %d apart, does not divide the %d ranks of the step", name, ranks, stride, p.step.Ranks)
		}
		p.groups[name] = group{ranks, stride, nodesOf(ranks, stride, p.nodeGPUs)}
	}
	return nil
}

// nodesOf counts the nodes that a group spans whose ranks are a stride apart, the first of
// them a node's first; 0: it is not stated how many GPUs a node has.
func nodesOf(ranks, stride, nodeGPUs int) int {
	switch {
	case nodeGPUs == 0:
		return 0
	case stride >= nodeGPUs:
		return ranks // each on a node of its own
	}
	return (ranks-1)*stride/nodeGPUs + 1
}

// readBlocks adds the ops of all blocks to their programs.
func (p *parser) readBlocks(toml.MetaData, Options) error {
	var all []string
	for _, b := range p.file.Block {
		all = append(all, b.On...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		all = []string{""}
	}
	for i, name := range all {
		p.step.Programs = append(p.step.Programs, Program{Name: name})
		p.programs[name] = &naming{index: i, named: map[string]placed{}}
	}
	for b := range p.file.Block {
		block := &p.file.Block[b]
		repeat := 1
		if block.Repeat != nil {
			var err error
			if repeat, err = p.whole(fmt.Sprintf("block[%d].repeat", b), block.Repeat, 0, maxOps); err != nil {
				return err
			}
		}
		ops, err := p.readOps(b)
		if err != nil {
			return err
		}
		on := block.On
		switch {
		case len(ops) == 0:
			on = nil
		case len(on) == 0:
			on = all
		}
		for _, name := range on {
			if err := p.place(p.programs[name], b, repeat, ops); err != nil {
				return err
			}
		}
	}
	for i := range p.step.Programs {
		if len(p.step.Programs[i].Ops) > 0 {
			return nil
		}
	}
	return p.errorf("block", "the step does nothing: want [[block]] with [[block.op]]")
}

// opRead is an op of a block, read once for all its iterations.
type opRead struct {
	*opFile
	key  string
	us   float64
	kind int // -1: a compute, or a call of a group of one rank, which takes no time
}

func (p *parser) readOps(b int) ([]opRead, error) {
	var ops []opRead
	for i := range p.file.Block[b].Op {
		f := &p.file.Block[b].Op[i]
		o := opRead{opFile: f, key: fmt.Sprintf("block[%d].op[%d]", b, i), kind: -1}
		var err error
		switch {
		case f.Name == "" || strings.Contains(f.Name, "@"):
			err = p.errorf(o.key, "name %.40q: want a name without @", f.Name)
		case (f.Call == "") == (f.Compute == nil):
			err = p.errorf(o.key, "%s: want call, or compute_us, and not both", f.Name)
		case f.Call != "":
			o.kind, err = p.kind(&o)
		default:
			if o.us, err = p.number(o.key+".compute_us", f.Compute); err == nil && (o.us < 0 || o.us > 1e15) {
				err = p.errorf(o.key+".compute_us", "%s takes %g us: want 0 or more", f.Name, o.us)
			}
		}
		if err != nil {
			return nil, err
		}
		ops = append(ops, o)
	}
	return ops, nil
}

func (p *parser) kind(o *opRead) (int, error) {
	name := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(o.Call))
	if !slices.Contains(collective.Names(), name) {
		return 0, p.errorf(o.key+".call", "%s: unknown collective %.40q: want one of %s%s", o.Name, o.Call, strings.Join(collective.Names(), ", "), suggest.DidYouMean(name, collective.Names()))
	}
	g, there := p.groups[cmp.Or(o.Group, "all")]
	if !there {
		return 0, p.errorf(o.key+".group", "%s: unknown group %.40q: want all or one of [groups]%s", o.Name, o.Group, suggest.DidYouMean(o.Group, slices.Sorted(maps.Keys(p.groups))))
	}
	bytes, err := p.number(o.key+".bytes", o.Bytes)
	if err != nil {
		return 0, err
	}
	if bytes = math.Ceil(bytes); bytes < 1 || bytes > units.MostBytes {
		return 0, p.errorf(o.key+".bytes", "%s: %g bytes: want 1 to a PiB", o.Name, bytes)
	}
	k := Kind{Collective: name, Bytes: int64(bytes), Ranks: g.ranks, Nodes: g.nodes, Stride: g.stride}
	dtype, err := measured.ParseCondition(measured.DType, cmp.Or(o.DType, p.file.DType, p.options.DType))
	if err != nil {
		return 0, p.errorf(o.key+".dtype", "%v", err)
	}
	k.DType = dtype
	if o.SMs != nil {
		n, err := p.whole(o.key+".sms", o.SMs, 1, 1<<20)
		if err != nil {
			return 0, err
		}
		k.SMs = strconv.Itoa(n)
	}
	if o.Traffic != "" {
		if !slices.Contains(collective.VectorForms(), name) {
			return 0, p.errorf(o.key+".traffic", "%s: %s has no traffic of its own: want one of %s", o.Name, name, strings.Join(collective.VectorForms(), ", "))
		}
		k.Traffic = o.Traffic
		if counts, given := p.options.Matrices[o.Traffic]; given {
			if want := collective.CountsOf(name, k.Ranks); len(counts) != want {
				return 0, p.errorf(o.key+".traffic", "%s: traffic %s has %d counts, for %s over %d ranks: want %d", o.Name, o.Traffic, len(counts), name, k.Ranks, want)
			}
			k.Traffic = collective.TrafficName(name, counts)
		}
	} else if slices.Contains(collective.VectorForms(), name) {
		k.Traffic = "balanced"
	}
	if k.Ranks == 1 {
		return -1, nil // there is nobody to talk to
	}
	return p.step.kind(p.kinds, k), nil
}

// place appends the iterations of a block to a program.
func (p *parser) place(to *naming, b, repeat int, ops []opRead) error {
	program := &p.step.Programs[to.index]
	if p.ops += max(repeat, 1) * len(ops); p.ops > maxOps {
		return p.errorf(fmt.Sprintf("block[%d]", b), "more than %d ops in the step", maxOps)
	}
	for i := range ops {
		name := ops[i].Name
		if _, twice := to.named[name]; twice {
			return p.errorf(ops[i].key+".name", "a second op %.40q: want names that differ", name)
		}
		at := placed{b, len(program.Ops) + i, len(ops), repeat}
		to.named[name] = at
		if ops[i].After != nil {
			for _, text := range *ops[i].After {
				to.open = append(to.open, reference{at, text, ops[i].key + ".after"})
			}
		}
	}
	for iteration := range repeat {
		for i := range ops {
			o := &ops[i]
			op := Op{Name: o.Name, Iteration: iteration, Stream: o.Stream, Call: -1, US: o.us, Line: p.lines.Of(o.key)}
			at := len(program.Ops)
			if o.kind >= 0 {
				var err error
				if op.Call, err = p.call(o, iteration, op.Line); err != nil {
					return err
				}
				op.Stream = cmp.Or(op.Stream, "communication")
			} else {
				op.Stream = cmp.Or(op.Stream, "compute")
			}
			if o.After == nil && at > 0 {
				op.After = []int{at - 1}
			}
			program.Ops = append(program.Ops, op)
		}
	}
	return nil
}

// call returns the call of an op in an iteration, the same one in all programs.
func (p *parser) call(o *opRead, iteration, line int) (int, error) {
	made := p.calls[o.Name]
	if iteration == len(made) {
		i := len(p.step.Calls)
		p.calls[o.Name] = append(made, i)
		c := Call{Op: o.Name, Iteration: iteration, Kind: o.kind, Line: line}
		if p.step.Kinds[o.kind].Collective != "sendrecv" {
			c.Communicator = cmp.Or(o.Group, "all")
		}
		p.step.Calls = append(p.step.Calls, c)
		return i, nil
	}
	i := made[iteration]
	if c := &p.step.Calls[i]; c.Kind != o.kind {
		return 0, p.errorf(o.key, "%s is %s here, and %s in line %d: want one call in all programs", o.Name, p.step.Kinds[o.kind], p.step.Kinds[c.Kind], c.Line)
	}
	return i, nil
}

// resolve finds the ops that after names.
func (p *parser) resolve() error {
	waits := 0
	for i := range p.step.Programs {
		program := &p.step.Programs[i]
		names := p.programs[program.Name]
		for _, r := range names.open {
			of, back, err := p.find(names, &r)
			if err != nil {
				return err
			}
			if waits += r.repeat; waits > maxWaits {
				return p.errorf(r.key, "more than %d waits for other ops in the step", maxWaits)
			}
			for iteration := range r.repeat {
				to := of.repeat - 1
				if of.block == r.block {
					to = iteration + back
				}
				if to < 0 {
					continue // before the first, or of a block that is not done at all
				}
				op := &program.Ops[r.first+iteration*r.stride]
				op.After = append(op.After, of.first+to*of.stride)
			}
		}
	}
	return nil
}

// find returns the op that a reference names, and the iteration relative to its own.
func (p *parser) find(names *naming, r *reference) (of placed, back int, err error) {
	name, text, relative := strings.Cut(r.text, "@")
	of, known := names.named[name]
	if !known {
		return of, 0, p.errorf(r.key, "after %.40q: no such op%s", r.text, suggest.DidYouMean(name, slices.Sorted(maps.Keys(names.named))))
	}
	if relative {
		if back, err = strconv.Atoi(text); err != nil || back >= 0 || back < -maxOps || of.block != r.block {
			return of, 0, p.errorf(r.key, "after %.40q: want an op of the same block with an earlier iteration, such as %s@-1", r.text, name)
		}
	}
	return of, back, nil
}
