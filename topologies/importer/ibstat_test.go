package importer

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/topologies"
)

const ibstatus = `Infiniband device 'mlx5_0' port 1 status:
	default gid:	 fe80:0000:0000:0000:0000:0000:0000:0001
	base lid:	 0x7
	sm lid:		 0x1
	state:		 4: ACTIVE
	phys state:	 5: LinkUp
	rate:		 400 Gb/sec (4X NDR)
	link_layer:	 InfiniBand

Infiniband device 'mlx5_1' port 1 status:
	state:		 1: DOWN
	phys state:	 3: Disabled
	rate:		 40 Gb/sec (4X QDR)

Infiniband device 'mlx5_2' port 1 status:
	state:		 4: ACTIVE
	rate:		 100 Gb/sec (4X EDR)

Infiniband device 'mlx5_2' port 2 status:
	state:		 4: ACTIVE
	rate:		 100 Gb/sec (4X EDR)
`

const ibstat = `CA 'mlx5_0'
	CA type: MT4129
	Number of ports: 1
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 400
		Link layer: InfiniBand
CA 'mlx5_1'
	Port 1:
		State: Down
		Physical state: Disabled
		Rate: 40
CA 'mlx5_2'
	Port 1:
		State: Active
		Rate: 100
	Port 2:
		State: Active
		Rate: 100
`

// TestReadIBStat: both programs say the same of the same adapters.
func TestReadIBStat(t *testing.T) {
	want := []adapter{{"mlx5_0", 50e9, true}, {"mlx5_1", 0, false}, {"mlx5_2", 25e9, false}}
	for _, text := range []string{ibstat, ibstatus, strings.ReplaceAll(ibstat, "\n", "\r\n")} {
		if got, err := readIBStat([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("read %v (%v), want %v, of\n%s", got, err, want, text)
		}
	}
	for text, want := range map[string]string{
		"":                                      "no adapter in it",
		"ibstat: command not found":             "no adapter in it",
		"CA 'a'\nPort 1:\nRate: 9999999":        "line 3: rate 9999999",
		strings.Repeat("CA 'a'\nCA 'b'\n", 200): "more than 256 adapters",
	} {
		if _, err := readIBStat([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %s", text, err, want)
		}
	}
}

// TestNICsTaken: which NICs there are, and how fast, as --hca and ibstat say.
func TestNICsTaken(t *testing.T) {
	text := read(t, "testdata/a100-pcie-8.txt")
	slow := strings.Replace(string(read(t, "testdata/a100-pcie-8.ibstat")), "Rate: 200", "Rate: 100", 1)
	for _, c := range []struct {
		name, hca, ibstat, nic string
		want                   string // the rates of the NICs, in Gb/s; or a part of the error
		note                   string
	}{
		{"all", "", "", "200Gb/s", "200 200 200 200 200 200 200 200 200", "near no GPU, and perhaps not for their data: mlx5_bond_0"},
		{"but one", "^mlx5_bond", "", "200Gb/s", "200 200 200 200 200 200 200 200", "left out, as asked: mlx5_bond_0"},
		{"two", "=mlx5_1,mlx5_2", "", "200Gb/s", "200 200", "left out, as asked: mlx5_0, mlx5_3, mlx5_4 and 4 more"},
		{"by prefix", "mlx5_b", "", "200Gb/s", "200", "left out, as asked"},
		{"none such", "mlx4", "", "200Gb/s", "--hca: no NIC is called mlx4: it has mlx5_0", ""},
		{"none left", "^mlx5", "", "200Gb/s", "--hca leaves out all NICs", ""},
		{"rated", "", slow, "", "100 200 200 200 200 200 200 200", "left out, as no port of them is active: mlx5_bond_0"},
		{"rated and chosen", "mlx5_0,mlx5_1", slow, "", "100 200", ""},
		{"rated in part", "", "CA 'mlx5_3'\nPort 1:\nState: Active\nRate: 200\n", "", "200", "left out, as ibstat does not know them: mlx5_0, mlx5_1, mlx5_2 and 5 more"},
		{"all down", "", "CA 'mlx5_3'\nPort 1:\nState: Down\nRate: 200\n", "", "ibstat: none of the NICs is up: it has mlx5_3", ""},
		{"overruled", "mlx5_0,mlx5_1", slow, "400Gb/s", "400 400", ""},
	} {
		o := Options{GPU: "a100-pcie", IBStat: []byte(c.ibstat)}
		if c.nic != "" {
			o.NIC = nic(t, c.nic)
		}
		if c.hca != "" {
			h, err := ParseHCA(c.hca)
			if err != nil {
				t.Fatal(err)
			}
			o.HCA = h
		}
		r, err := Import("topo.txt", text, o)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			continue
		}
		if got := nicRates(t, r); got != c.want {
			t.Errorf("%s: NICs of %s, want %s", c.name, got, c.want)
		}
		if !strings.Contains(strings.Join(r.Notes, "\n"), c.note) {
			t.Errorf("%s: notes %q, want %q", c.name, r.Notes, c.note)
		}
	}
	for _, bad := range []string{"^", "=", "a,,b", "mlx5_0:1", "a b"} {
		if _, err := ParseHCA(bad); err == nil {
			t.Errorf("read %q", bad)
		}
	}
}

// FuzzReadIBStat: any text gives adapters or an error.
func FuzzReadIBStat(f *testing.F) {
	f.Add([]byte(ibstat))
	f.Add([]byte(ibstatus))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := readIBStat(text)
		if (err == nil) == (len(all) == 0) {
			t.Errorf("%d adapters, %v", len(all), err)
		}
		for _, a := range all {
			if a.bandwidth < 0 || a.name == "" {
				t.Errorf("%+v", a)
			}
		}
	})
}

// nicRates returns the bandwidths of a node's NICs, in Gb/s.
func nicRates(t *testing.T, r *Result) string {
	t.Helper()
	top, err := topologies.Read("x.toml", r.TOML, topologies.Options{Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	var rates []string
	for v, x := range top.Vertices {
		if x.Kind != topologies.NIC || x.Node != 0 {
			continue
		}
		for _, e := range top.Edges {
			if e.From == v && top.Vertices[e.To].Kind == topologies.Fabric {
				rates = append(rates, strconv.FormatFloat(float64(e.Bandwidth)*8/1e9, 'g', -1, 64))
			}
		}
	}
	return strings.Join(rates, " ")
}
