package importer

import (
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/topologies"
)

// model holds properties of a GPU model that texts do not contain.
type model struct {
	name    string
	devices string // PCI vendor and device numbers, as in 10de:20b0, separated by spaces
	arch    string
	sms     int
	memory  string
	link    topologies.LinkKind // between GPUs: NVLink or XGMI; PCIe if it has neither
	speed   string              // bandwidth of one link
	links   int                 // links of one GPU
	direct  string              // latency of a link to another GPU
	hop     string              // latency of a link to a switch
	pcie    int                 // PCIe generation
	like    string              // the catalogue's topology whose protocol costs it takes
}

// models lists the GPUs that can be imported. Sources: the vendors' data sheets;
// latencies, and the MI300X's link bandwidth, are those of the catalogue.
var models = []model{
	{"v100", "10de:1db1 10de:1db3 10de:1db5 10de:1db8", "volta", 80, "900 GB/s", topologies.NVLink, "25 GB/s", 6, "0.7 us", "0.35 us", 3, "dgx-1"},
	{"t4", "10de:1eb8", "turing", 40, "320 GB/s", topologies.PCIe, "", 0, "", "", 3, "t4-8"},
	{"a100", "10de:20b0 10de:20b1 10de:20b2 10de:20b3", "ampere", 108, "1555 GB/s", topologies.NVLink, "25 GB/s", 12, "0.4 us", "0.2 us", 4, "dgx-a100"},
	{"a100-pcie", "10de:20f1 10de:20b5", "ampere", 108, "1555 GB/s", topologies.NVLink, "25 GB/s", 12, "0.4 us", "0.2 us", 4, "l40s-4"},
	{"a10", "10de:2236", "ampere", 72, "600 GB/s", topologies.PCIe, "", 0, "", "", 4, "a10g-8"},
	{"a10g", "10de:2237", "ampere", 80, "600 GB/s", topologies.PCIe, "", 0, "", "", 4, "a10g-8"},
	{"l4", "10de:27b8", "ada", 58, "300 GB/s", topologies.PCIe, "", 0, "", "", 4, "l40s-4"},
	{"l40s", "10de:26b9", "ada", 142, "864 GB/s", topologies.PCIe, "", 0, "", "", 4, "l40s-4"},
	{"rtx4090", "10de:2684", "ada", 128, "1008 GB/s", topologies.PCIe, "", 0, "", "", 4, "l40s-4"},
	{"h100", "10de:2330", "hopper", 132, "3350 GB/s", topologies.NVLink, "25 GB/s", 18, "0.4 us", "0.2 us", 5, "dgx-h100"},
	{"h200", "10de:2335", "hopper", 132, "4800 GB/s", topologies.NVLink, "25 GB/s", 18, "0.4 us", "0.2 us", 5, "dgx-h200"},
	{"gh200", "10de:2342", "hopper", 132, "4000 GB/s", topologies.NVLink, "25 GB/s", 18, "0.4 us", "0.2 us", 5, "alps"},
	{"b200", "10de:2901", "blackwell", 148, "8000 GB/s", topologies.NVLink, "50 GB/s", 18, "0.4 us", "0.2 us", 5, "gb200-nvl72"},
	{"gb200", "10de:2941", "blackwell", 148, "8000 GB/s", topologies.NVLink, "50 GB/s", 18, "0.4 us", "0.2 us", 5, "gb200-nvl72"},
	{"mi100", "1002:738c", "cdna1", 120, "1228 GB/s", topologies.XGMI, "46 GB/s", 3, "0.18 us", "", 4, "mi300x"},
	{"mi210", "1002:740f", "cdna2", 104, "1638 GB/s", topologies.XGMI, "50 GB/s", 3, "0.18 us", "", 4, "mi300x"},
	{"mi250", "1002:740c", "cdna2", 104, "1638 GB/s", topologies.XGMI, "50 GB/s", 8, "0.18 us", "", 4, "mi250"},
	{"mi250x", "1002:7408", "cdna2", 110, "1638 GB/s", topologies.XGMI, "50 GB/s", 8, "0.18 us", "", 4, "mi250x"},
	{"mi300x", "1002:74a1 1002:74b5", "cdna3", 304, "5300 GB/s", topologies.XGMI, "46.5 GB/s", 7, "0.18 us", "", 5, "mi300x"},
	{"mi325x", "1002:74a5", "cdna3", 304, "6000 GB/s", topologies.XGMI, "46.5 GB/s", 7, "0.18 us", "", 5, "mi300x"},
}

// runtime names the collective library of the GPU's vendor.
func (m *model) runtime() string {
	if strings.HasPrefix(m.arch, "cdna") {
		return "rccl"
	}
	return "nccl"
}

// ModelNames lists the values of --gpu.
func ModelNames() []string { return lists.Map(models, func(m model) string { return m.name }) }

func modelNamed(name string) *model {
	i := slices.IndexFunc(models, func(m model) bool { return strings.EqualFold(m.name, name) })
	if i < 0 {
		return nil
	}
	return &models[i]
}

// modelOf finds a model by its PCI vendor and device numbers.
func modelOf(vendor, device string) *model {
	id := strings.TrimPrefix(strings.ToLower(vendor), "0x") + ":" + strings.TrimPrefix(strings.ToLower(device), "0x")
	for i := range models {
		if slices.Contains(strings.Fields(models[i].devices), id) {
			return &models[i]
		}
	}
	return nil
}

// byCapability guesses the model where a text gives only NVIDIA's compute
// capability. It lists capabilities of a single model, or of models that differ
// only in memory.
var byCapability = map[int]string{70: "v100", 75: "t4", 80: "a100", 90: "h100", 100: "b200"}

// byGCN does the same for AMD, from the architecture and the number of compute
// units.
var byGCN = []struct {
	gcn  string
	cus  int // 0 matches any number
	name string
}{
	{"908", 0, "mi100"}, {"gfx908", 0, "mi100"},
	{"910", 104, "mi250"}, {"910", 110, "mi250x"}, {"gfx90a", 104, "mi250"}, {"gfx90a", 110, "mi250x"},
	{"gfx942", 304, "mi300x"},
}

// shape is the links between the GPUs of a standard machine, for texts that do
// not list links. It covers only models and counts for which there is one
// standard machine.
type shape struct {
	model string
	gpus  int
	hub   int // links from each GPU to the switch; 0 if there is no switch
	mesh  int // direct links between any two GPUs; 0 if there are none
}

var shapes = []shape{
	{"v100", 16, 6, 0},
	{"a100", 8, 12, 0},
	{"a100", 16, 12, 0},
	{"a100", 4, 0, 4},
	{"h100", 8, 18, 0},
	{"h100", 4, 0, 6},
	{"h200", 8, 18, 0},
	{"h200", 4, 0, 6},
	{"gh200", 4, 0, 6},
	{"b200", 8, 18, 0},
	{"gb200", 72, 18, 0},
	{"mi300x", 8, 0, 1},
	{"mi325x", 8, 0, 1},
}

// between returns the bandwidth, in GB/s, that NCCL assumes between the
// processors of a node (graph/topo.h).
func between(vendor string, model int) (gbps int, cpu string) {
	switch {
	case vendor == "amd":
		return 16, "amd"
	case vendor == "power":
		return 32, "power"
	case vendor == "arm":
		return 6, "arm"
	case model == 207:
		return 40, "intel"
	case model == 143:
		return 22, "intel"
	case model > 0 && model < 85:
		return 6, "intel"
	}
	return 10, "intel"
}
