package topologies

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/colltune/colltune/internal/files"
	"github.com/colltune/colltune/internal/suggest"
)

//go:embed catalogue
var embedded embed.FS

// Options select a part of a topology. The zero value selects all of it.
type Options struct {
	Nodes int   // number of nodes; 0 means the file's
	GPUs  []int // local numbers of GPUs in each node, rising; nil means all
}

// Resolve makes a topology of the name a user gives: that of a catalogue entry
// (dgx-a100), of a file (anything that exists or ends in .toml), or of a generator
// (ring:8).
//
// The error is an ErrorList if a file is invalid. It wraps fs.ErrNotExist if
// the name is none of these.
func Resolve(arg string, o Options) (*Topology, error) {
	if o.Nodes < 0 || o.Nodes > maxRanks {
		return nil, fmt.Errorf("%d nodes: want 1 to %d", o.Nodes, maxRanks)
	}
	if kind, rest, ok := strings.Cut(arg, ":"); ok && generatorKind(kind) {
		return fromGenerator(arg, kind, rest, o)
	}
	file, text, err := open(arg)
	if err != nil {
		return nil, err
	}
	return Read(file, text, o)
}

// FromText makes a topology of untrusted text: the text of a file, or a
// generator's name such as ring:8. Unlike Resolve it never opens a file. name
// is its name in errors.
func FromText(name, text string, o Options) (*Topology, error) {
	if o.Nodes < 0 || o.Nodes > maxRanks {
		return nil, fmt.Errorf("%s: %d nodes: want 1 to %d", name, o.Nodes, maxRanks)
	}
	if kind, rest, ok := strings.Cut(text, ":"); ok && slices.Contains(generatorKinds(), kind) {
		return fromGenerator(text, kind, rest, o)
	}
	return Read(name, []byte(text), o)
}

func fromGenerator(arg, kind, rest string, o Options) (*Topology, error) {
	b, err := generate(kind, rest)
	if err != nil {
		return nil, fmt.Errorf("topology %q: %w", arg, err)
	}
	if o.Nodes > 1 {
		return nil, fmt.Errorf("topology %q: a generator makes one node and no fabric: want --nodes 1, or a file with NICs", arg)
	}
	return lay(b, nil, o)
}

// Read makes a topology of the text of a file, which errors call file. The error is an
// ErrorList with all faults.
func Read(file string, text []byte, o Options) (*Topology, error) {
	b, r, err := readBlueprint(file, text)
	if err != nil {
		return nil, err
	}
	return lay(b, r, o)
}

// lay applies the options and builds the topology. r, if not nil, adds lines to
// errors.
func lay(b *blueprint, r *reader, o Options) (*Topology, error) {
	fail := func(key string, err error) error {
		if r == nil {
			return fmt.Errorf("topology %s: %w", b.name, err)
		}
		t := table{r: r}
		t.fail(key, "%v", err)
		return r.err()
	}
	if o.Nodes > 0 {
		b.nodes = o.Nodes
	}
	if b.disconnected() {
		return nil, fail("nodes", fmt.Errorf("%d nodes and no NIC between them: want [[node.nic]] and [fabric], or 1 node", b.nodes))
	}
	if err := b.sizeError(); err != nil {
		return nil, fail("nodes", err)
	}
	for i := range b.kinds {
		if err := b.kinds[i].joinedTwice(); err != nil {
			return nil, fail(b.kinds[i].at("link"), err)
		}
	}
	gpus := slices.Clone(o.GPUs)
	if gpus != nil {
		if len(gpus) == 0 {
			return nil, fmt.Errorf("topology %s: no GPUs of it: want at least one", b.name)
		}
		if err := b.only(gpus); err != nil {
			return nil, fmt.Errorf("topology %s: %w", b.name, err)
		}
		if !slices.IsSorted(gpus) {
			return nil, fmt.Errorf("topology %s: GPUs %v of it: want them rising, as ranks are numbered so", b.name, gpus)
		}
	}
	t, err := b.build(gpus)
	if err != nil {
		return nil, fail("node", err)
	}
	return t, nil
}

// Names lists the catalogue, sorted.
func Names() []string {
	entries, err := embedded.ReadDir("catalogue")
	if err != nil {
		panic(err) // can't fail: it is embedded
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".toml"); ok && name != generatorProtocols {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// Source returns the text of a catalogue entry.
func Source(name string) ([]byte, bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	text, err := embedded.ReadFile("catalogue/" + name + ".toml")
	return text, err == nil
}

// open finds the text behind a name.
func open(arg string) (file string, text []byte, err error) {
	if text, ok := Source(arg); ok {
		return arg + ".toml", text, nil
	}
	text, err = files.Read(arg, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && slices.Contains(generatorKinds(), arg):
		return "", nil, unknown(fmt.Sprintf("topology %q is a generator: want its size too, %s", arg, generatorUsage))
	case errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(arg, ".toml"):
		return "", nil, unknown(fmt.Sprintf("unknown topology %q%s: want one of %s, a .toml file, or a generator %s",
			arg, suggest.DidYouMean(strings.ToLower(arg), Names()), strings.Join(Names(), ", "), generatorUsage))
	case err != nil:
		return "", nil, fmt.Errorf("topology file %s: %w", arg, err)
	}
	return arg, text, nil
}

// unknown is an error that wraps fs.ErrNotExist with a text of its own.
type unknown string

func (u unknown) Error() string { return string(u) }

// Is makes errors.Is see a missing file.
func (u unknown) Is(target error) bool { return target == fs.ErrNotExist }

// generatorProtocols is the embedded file with the protocols of generated
// systems.
const generatorProtocols = "generator-protocols"

var defaultProtocols = sync.OnceValues(func() ([3]Protocol, error) {
	file := generatorProtocols + ".toml"
	text, err := embedded.ReadFile("catalogue/" + file)
	if err != nil {
		return [3]Protocol{}, err
	}
	t, err := parse(file, text)
	if err != nil {
		return [3]Protocol{}, err
	}
	all := readProtocols(t)
	t.done()
	return all, t.r.err()
})
