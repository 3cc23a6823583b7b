package importer

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// maxText is the largest text read.
const maxText = 4 << 20

// Options are properties that the text lacks, or that override it.
type Options struct {
	Name  string // of the topology; empty: derived from the file's name
	GPU   string // a model's name; empty: as the text says
	CPU   string // intel, amd, arm, power; empty: as the text says
	NIC   NIC
	HCA   HCA // which NICs to keep; the zero value keeps all
	Nodes int // number of such nodes; 0 means 1
	// IBStat is the output of ibstat or ibstatus on that machine; empty if not
	// given.
	IBStat []byte
}

// NIC describes a node's NICs if the text does not, or overrides it. The zero
// value keeps the text's.
type NIC struct {
	None      bool            // drop the NICs that the text lists
	Count     int             // 0: as many as the text lists, or one for each GPU
	Bandwidth units.Bandwidth // 0: as the text says
}

// ParseNIC reads 25GB/s, 4x25GB/s (four NICs in each node), or none. It returns an error
// for anything else.
func ParseNIC(s string) (NIC, error) {
	if s == "none" {
		return NIC{None: true}, nil
	}
	var n NIC
	if count, rest, ok := strings.Cut(s, "x"); ok {
		c, err := strconv.Atoi(strings.TrimSpace(count))
		if err != nil || c < 1 || c > maxDevices {
			return NIC{}, fmt.Errorf("%q is not a number of NICs: want 25GB/s, 4x25GB/s or none", s)
		}
		n.Count, s = c, rest
	}
	w, err := units.ParseBandwidth(s)
	n.Bandwidth = w
	return n, err
}

// Result is an imported topology file.
type Result struct {
	TOML     []byte
	Topology *topologies.Topology // the TOML read back
	Format   string               // the kind of text it was made from
	Notes    []string             // numbers inferred and devices left out, one line each
}

// format is a kind of text that can be imported: is recognises it, read fills in
// the machine.
type format struct {
	name string
	is   func(text []byte) bool
	read func(file string, text []byte, m *machine) error
}

var formats = []format{
	{"NCCL topology XML", isXML, readXML},
	{"rocm-smi --showtopo", isROCm, readROCm},
	{"nvidia-smi topo -m", isNVIDIA, readNVIDIA},
}

// Import converts a machine's description to a topology file. file is its name
// in errors. An error says why the text is invalid, or names the option that
// supplies what it lacks.
func Import(file string, text []byte, o Options) (*Result, error) {
	fail := func(err error) (*Result, error) { return nil, fmt.Errorf("%s: %w", file, err) }
	if len(text) > maxText {
		return fail(fmt.Errorf("%d bytes: want at most %d", len(text), maxText))
	}
	for _, f := range formats {
		if !f.is(text) {
			continue
		}
		m := &machine{file: filepath.Base(file), format: f.name}
		if err := f.read(file, text, m); err != nil {
			return fail(err)
		}
		if err := m.complete(o); err != nil {
			return fail(err)
		}
		r := &Result{TOML: m.write(o), Format: f.name, Notes: m.notes}
		t, err := topologies.Read(m.name(o)+".toml", r.TOML, topologies.Options{})
		if err != nil {
			return fail(fmt.Errorf("what it describes is no system: %w", err))
		}
		r.Topology = t
		return r, nil
	}
	names := lists.Map(formats, func(f format) string { return f.name })
	return fail(fmt.Errorf("unknown format: want the text of %s", strings.Join(names, ", ")))
}

func isXML(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) }

// name returns the topology's name: o.Name, or one derived from the file's.
func (m *machine) name(o Options) string {
	if o.Name != "" {
		return o.Name
	}
	base := strings.TrimSuffix(m.file, filepath.Ext(m.file))
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, base)
	clean = strings.Trim(clean, "-.")
	if len(clean) > 60 {
		clean = clean[:60]
	}
	if clean == "" {
		return "imported"
	}
	return clean
}
