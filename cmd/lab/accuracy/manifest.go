package accuracy

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/tomlfile"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Manifest says what each data set of a folder was measured on, which programs its
// labels name, and which of its rows are not used.
type Manifest struct {
	Sets     []Set     `toml:"set"`
	Programs []Program `toml:"program"`
}

// Set is a data set: a file of rows that were measured on one machine.
type Set struct {
	Name     string `toml:"name"`     // of the file, without .csv, below the folder
	Topology string `toml:"topology"` // of the catalogue, or a .toml file beside the manifest
	Machine  string `toml:"machine"`
	// Guessed says that the topology's constants are another generation's, which no row of its own
	// was measured with: the rows tell of no other.
	Guessed bool   `toml:"guessed"`
	Source  string `toml:"source"`
	Library string `toml:"library"` // where a file has rows of several: those of this one are the set
	DType   string `toml:"dtype"`   // of rows that do not say; f32
	Version string `toml:"version"` // of the library, of rows that do not say: 2.29.2
	Without []Rule `toml:"without"`
	// HostUS is what one thread takes to launch a call on a GPU, in microseconds, where it
	// does so for all GPUs of a node in turn: by collective, or under any. No such call takes
	// less than that for each GPU.
	HostUS    map[string]float64 `toml:"host_us"`
	Before222 bool               `toml:"before_2_22"` // the library is NCCL before 2.22
	// LateUS is how much later the last of a node's threads launches than the first, in
	// microseconds, by collective. All ranks of a call wait for it.
	LateUS map[string]float64 `toml:"late_us"`
	// BackToBack are collectives whose calls on one node follow each other without a wait.
	BackToBack []string `toml:"back_to_back"`
	// Protocols are those that the library had, by collective, or under any; none: all.
	Protocols map[string][]string `toml:"protocols"`
	OtherDir  bool                `toml:"msccl_algo_dir"` // MSCCL_ALGO_DIR named a folder of other files than RCCL's own
}

// Rule selects rows of a set. Empty fields select all.
type Rule struct {
	Algo       string   `toml:"algo"` // pattern of path.Match
	Proto      string   `toml:"proto"`
	Collective []string `toml:"collective"`
	Nodes      []int    `toml:"nodes"`
	GPUs       []int    `toml:"gpus"`
	From       string   `toml:"from"`  // size
	Below      string   `toml:"below"` // size
	Why        string   `toml:"why"`

	from, below units.Bytes
}

// Program is what a label of MSCCL programs names.
type Program struct {
	// Label is a row's algo. Its parts {protocol}, {channels} and {instances} stand for
	// values.
	Label string `toml:"label"`
	// One of these ran; which, is not known where there are several.
	Any []Variant `toml:"any"`

	label *regexp.Regexp
}

// Variant is a family with its parameters and instances.
type Variant struct {
	Family     string            `toml:"family"` // or a program of byhand.go
	Parameters map[string]string `toml:"parameters"`
	Instances  int               `toml:"instances"` // 0: the label's, or 1
	Protocols  []string          `toml:"protocols"` // where neither label nor row has one; none: all
	Paired     bool              `toml:"paired"`    // a connection's sends and receives are one threadblock's
	Without    []string          `toml:"without"`   // passes that the program's own compiler did not have
}

// ParseManifest reads a manifest. The error names file, and the line if it is known.
func ParseManifest(file, text string) (*Manifest, error) {
	var m Manifest
	meta, lines, err := tomlfile.Decode(text, &m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("%s: key %s is unknown", file, unknown[0])
	}
	seen := map[string]bool{}
	for i := range m.Sets {
		s := &m.Sets[i]
		fail := func(format string, args ...any) error {
			return fmt.Errorf("%s: line %d: %s", file, lines.Of(fmt.Sprintf("set[%d]", i)), fmt.Sprintf(format, args...))
		}
		switch {
		case s.Name == "" || seen[s.Name]:
			return nil, fail("a set's name %q: want one that no other set has", s.Name)
		case s.Topology == "":
			return nil, fail("set %s names no topology", s.Name)
		}
		seen[s.Name] = true
		if strings.HasSuffix(s.Topology, ".toml") {
			s.Topology = filepath.Join(filepath.Dir(file), s.Topology)
		}
		s.Machine = cmp.Or(s.Machine, s.Name)
		if s.DType == "" {
			s.DType = "f32"
		}
		if _, err := collective.ElemBytes(s.DType); err != nil {
			return nil, fail("set %s: %v", s.Name, err)
		}
		for _, name := range slices.Concat(slices.Collect(maps.Values(s.Protocols))...) {
			if _, err := topologies.ParseProto(name); err != nil {
				return nil, fail("set %s: %v", s.Name, err)
			}
		}
		for j := range s.Without {
			r := &s.Without[j]
			if r.Why == "" {
				return nil, fail("set %s leaves rows out and says not why", s.Name)
			}
			if _, err := path.Match(r.Algo, ""); err != nil {
				return nil, fail("set %s: pattern %q: %v", s.Name, r.Algo, err)
			}
			for text, to := range map[string]*units.Bytes{r.From: &r.from, r.Below: &r.below} {
				if text == "" {
					continue
				}
				if *to, err = units.ParseBytes(text); err != nil {
					return nil, fail("set %s: %v", s.Name, err)
				}
			}
		}
	}
	for i := range m.Programs {
		p := &m.Programs[i]
		if p.Label == "" || len(p.Any) == 0 {
			return nil, fmt.Errorf("%s: program %d: want a label, and what it names", file, i+1)
		}
		pattern := regexp.QuoteMeta(p.Label)
		pattern = strings.ReplaceAll(pattern, `\{protocol\}`, `(?P<protocol>[A-Za-z]+[0-9]*)`)
		pattern = strings.ReplaceAll(pattern, `\{channels\}`, `(?P<channels>[0-9]+)`)
		pattern = strings.ReplaceAll(pattern, `\{instances\}`, `(?P<instances>[0-9]+)`)
		if p.label, err = regexp.Compile("^" + pattern + "$"); err != nil {
			return nil, fmt.Errorf("%s: label %q: %w", file, p.Label, err)
		}
	}
	return &m, nil
}

// Set returns the set of that name, or nil.
func (m *Manifest) Set(name string) *Set {
	if i := slices.IndexFunc(m.Sets, func(s Set) bool { return s.Name == name }); i >= 0 {
		return &m.Sets[i]
	}
	return nil
}

// whyNot returns why a row is not used; empty if it is.
func (s *Set) whyNot(r *Row) string {
	for _, w := range s.Without {
		algo := w.Algo == ""
		if !algo {
			algo, _ = path.Match(w.Algo, r.Algo)
		}
		if algo && (w.Proto == "" || strings.EqualFold(w.Proto, r.Proto)) &&
			(len(w.Collective) == 0 || slices.Contains(w.Collective, r.Collective)) &&
			(len(w.Nodes) == 0 || slices.Contains(w.Nodes, r.Nodes)) &&
			(len(w.GPUs) == 0 || slices.Contains(w.GPUs, r.GPUs)) &&
			r.Bytes >= int64(w.from) && (w.Below == "" || r.Bytes < int64(w.below)) {
			return w.Why
		}
	}
	return ""
}

// version returns that of the library of a row; empty: it is not known.
func (s *Set) version(r *Row) string {
	old := ""
	if s.Before222 {
		old = "2.21"
	}
	return cmp.Or(r.Version, s.Version, old)
}

// backToBack reports whether calls of a row followed each other without a wait.
func (s *Set) backToBack(r *Row) bool {
	return r.Nodes == 1 && slices.Contains(s.BackToBack, r.Collective)
}

// protocols returns those that the library of a row had; none: all.
func (s *Set) protocols(r *Row) []string {
	if names, ok := s.Protocols[r.Collective]; ok {
		return names
	}
	return s.Protocols["any"]
}

// host returns the least time that the host of a row takes, in microseconds.
func (s *Set) host(r *Row) float64 {
	us, ok := s.HostUS[r.Collective]
	if !ok {
		us = s.HostUS["any"]
	}
	return us * float64(r.GPUs)
}

// variants returns the programs that a label may name, and its protocol; none if the
// manifest does not know the label.
func (m *Manifest) variants(label string) (all []Variant, protocol string) {
	for _, p := range m.Programs {
		found := p.label.FindStringSubmatch(label)
		if found == nil {
			continue
		}
		value := func(name string) string {
			if i := p.label.SubexpIndex(name); i >= 0 {
				return found[i]
			}
			return ""
		}
		for _, v := range p.Any {
			if v.Instances == 0 {
				v.Instances, _ = strconv.Atoi(value("instances"))
			}
			v.Instances = max(v.Instances, 1)
			if n := value("channels"); n != "" {
				given := map[string]string{"channels": n}
				for name, text := range v.Parameters {
					given[name] = text
				}
				v.Parameters = given
			}
			all = append(all, v)
		}
		return all, value("protocol")
	}
	return nil, ""
}
