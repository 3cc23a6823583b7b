package results

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/tomlfile"
	"github.com/colltune/colltune/internal/units"
)

// maxPlan is the largest campaign.toml that is read.
const maxPlan = 256 << 20

// planDocument is campaign.toml.
type planDocument struct {
	Schema     string     `toml:"schema"`
	Version    string     `toml:"version"`
	Command    string     `toml:"command"` // for people; made from the rest
	Collective string     `toml:"collective"`
	Root       int        `toml:"root"`
	Op         string     `toml:"op"`
	DType      string     `toml:"dtype"`
	Placement  string     `toml:"placement"`
	Sizes      []int64    `toml:"sizes"`
	Iters      int        `toml:"iters"`
	Warmup     int        `toml:"warmup_iters"`
	Seed       int64      `toml:"seed"`
	Executor   string     `toml:"executor"`
	Memory     string     `toml:"memory"` // a campaign of an earlier version has none
	Topology   planSystem `toml:"topology"`
	Flags      []planFlag `toml:"flag"`
	Files      []planText `toml:"file"`
}

type planSystem struct {
	Name  string `toml:"name"`
	Nodes int    `toml:"nodes"`
	Ranks int    `toml:"ranks"`
	Hash  string `toml:"hash"`
	Text  string `toml:"text"`
}

type planFlag struct {
	Name  string `toml:"name"`
	Value string `toml:"value"`
}

type planText struct {
	Kind string `toml:"kind"`
	Name string `toml:"name"`
	Text string `toml:"text"`
}

// encode writes the plan for people to read: a line for each key, and the files'
// texts as they were.
func (p Plan) encode() []byte {
	p = p.normal()
	var b strings.Builder
	b.WriteString("# A colltune campaign: what it searches for. `colltune resume` goes on with it.\n")
	text := func(key, value string) { fmt.Fprintf(&b, "%s = %s\n", key, tomlString(value)) }
	number := func(key string, value int64) { fmt.Fprintf(&b, "%s = %d\n", key, value) }
	text("schema", PlanSchema)
	text("version", p.Version)
	text("command", p.Command())
	text("collective", p.Collective)
	number("root", int64(p.Root))
	text("op", p.Op)
	text("dtype", p.DType)
	text("placement", p.Placement)
	fmt.Fprintf(&b, "sizes = %s\n", tomlNumbers(p.Sizes))
	number("iters", int64(p.Iters))
	number("warmup_iters", int64(p.Warmup))
	number("seed", p.Seed)
	text("executor", p.Executor)
	if p.Memory > 0 {
		text("memory", units.Bytes(p.Memory).String())
	}

	b.WriteString("\n[topology]\n")
	text("name", p.Topology.Name)
	number("nodes", int64(p.Topology.Nodes))
	number("ranks", int64(p.Topology.Ranks))
	text("hash", p.Topology.Hash)
	text("text", p.Topology.Text)
	for _, f := range p.Flags {
		b.WriteString("\n[[flag]]\n")
		text("name", f.Name)
		text("value", f.Value)
	}
	for _, f := range p.Files {
		b.WriteString("\n[[file]]\n")
		text("kind", f.Kind)
		text("name", f.Name)
		text("text", f.Text)
	}
	return []byte(b.String())
}

func tomlNumbers[N int | int64](all []N) string {
	return "[" + strings.Join(lists.Map(all, func(n N) string { return strconv.FormatInt(int64(n), 10) }), ", ") + "]"
}

// tomlString quotes a string. A text of several lines stays as it is, if TOML has
// a way to write it; all else is escaped.
func tomlString(s string) string {
	literal := strings.Contains(s, "\n") && !strings.Contains(s, "''") && !strings.HasSuffix(s, "'") &&
		strings.IndexFunc(s, func(r rune) bool { return safe.Hidden(r) && r != '\n' && r != '\t' || r == '\uFFFD' }) < 0
	if literal {
		return "'''\n" + s + "'''"
	}
	return safe.TOML(s)
}

// readLimited reads the bytes of a campaign.toml or map.toml.
func readLimited(folder *os.Root, file string) ([]byte, error) {
	f, err := openRegular(folder, file, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPlan+1))
	if err == nil && len(text) > maxPlan {
		err = &LineError{file, 0, fmt.Sprintf("more than %d bytes", maxPlan)}
	}
	return text, err
}

// parsePlan reads a plan, whatever its values.
func parsePlan(text string) (Plan, error) {
	var d planDocument
	meta, lines, err := tomlfile.Decode(text, &d)
	if err != nil {
		return Plan{}, err
	}
	if err := lines.CheckSchema(d.Schema, PlanSchema); err != nil {
		return Plan{}, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return Plan{}, unknownKey(lines, unknown[0])
	}
	p := Plan{
		Version: d.Version, Topology: Topology(d.Topology),
		Call: collective.Call{Collective: d.Collective, Root: d.Root, Op: d.Op, DType: d.DType}, Placement: d.Placement, Sizes: d.Sizes,
		Iters: d.Iters, Warmup: d.Warmup, Seed: d.Seed, Executor: d.Executor,
	}
	if d.Memory != "" {
		n, err := units.ParseBytes(d.Memory)
		if err != nil {
			return Plan{}, fmt.Errorf("line %d: memory: %w", lines.Of("memory"), err)
		}
		p.Memory = int64(n)
	}
	for _, f := range d.Flags {
		p.Flags = append(p.Flags, Flag(f))
	}
	for _, f := range d.Files {
		p.Files = append(p.Files, File(f))
	}
	return p, nil
}

// sizeText is a size as the flags take it.
func sizeText(n int64) string { return units.Bytes(n).String() }

// sizesText lists sizes, but no more of them than anybody would read.
func sizesText(sizes []int64) string {
	var words []string
	for i, n := range sizes {
		if i == 3 && len(sizes) > 5 {
			words = append(words, "…", sizeText(sizes[len(sizes)-1]), fmt.Sprintf("(%d)", len(sizes)))
			break
		}
		words = append(words, sizeText(n))
	}
	return strings.Join(words, " ")
}
