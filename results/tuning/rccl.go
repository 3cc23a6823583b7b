package tuning

import (
	"bytes"
	"fmt"
	"slices"
)

// rcclConf is the file of the CSV tuner that RCCL has built in since ROCm 7.13 (2.28.3,
// src/plugin/tuner/csv_tuner.cc). It reads rows as NCCL's example does, and leaves calls
// without a row to RCCL. It reads one file: that of NCCL_TUNER_CONFIG_FILE takes the place of
// AMD's rows, which are therefore written behind ours.
var rcclConf = Format{
	Name: "rccl-conf", Doc: "rows of the CSV tuner that RCCL has built in since ROCm 7.13, a file an architecture",
	Pattern: `colltune-table-(.*-)?rccl-tuner\.conf`,
	Load:    "export NCCL_TUNER_CONFIG_FILE=<file>, an absolute path, with ROCm 7.13 or later: its RCCL reads it by itself, unless NCCL_TUNER_PLUGIN or a libnccl-tuner.so on the library path takes its place",
	Lacks:   func(s Scope, c Config) string { return tunerLacks(s, c, "rccl", false) },
	Same:    tunerSame, Nodes: true, System: gfxOf,
	Own:   ownChoice("rccl"),
	Write: writeRCCL,
}

// architectures of AMD.
var architectures = generations{
	{"gfx950", "gfx950"}, {"mi350", "gfx950"}, {"mi355", "gfx950"},
	{"gfx942", "gfx942"}, {"mi300", "gfx942"}, {"mi308", "gfx942"}, {"mi325", "gfx942"},
	{"gfx90a", "gfx90a"}, {"mi210", "gfx90a"}, {"mi250", "gfx90a"}, {"gfx908", "gfx908"}, {"mi100", "gfx908"},
}

// gfxOf returns a system's architecture; "": it is not known.
func gfxOf(system string) string { return architectures.of(system) }

// rcclShipped are AMD's own rows, in their order: of one node from ROCm/rocm-systems#4503, of
// two from #9442. There are none for other architectures.
var rcclShipped = map[string][]Rule{"gfx950": {
	shipped(0, 16383, "tree", "LL", 1, 1),
	shipped(16384, 524287, "ring", "LL", 0, 1),
	shipped(524288, 1048575, "ring", "LL", 32, 1),
	shipped(1048576, 2097000, "ring", "LL", 56, 1),
	shipped(33554432, 54525951, "ring", "LL128", 64, 2),
	shipped(54525952, 117440511, "tree", "Simple", 64, 2),
	shipped(117440512, 234881024, "ring", "Simple", 48, 2),
}}

// RCCLShipped lists AMD's own rows for an architecture, such as gfx950, in their order. They are not to be changed.
func RCCLShipped(gfx string) []Rule { return rcclShipped[gfx] }

// shipped is a row of all-reduces over nodes of 8.
func shipped(first, last int64, algorithm, protocol string, channels, nodes int) Rule {
	return Rule{Scope{Collective: "allreduce", Ranks: 8 * nodes, Nodes: nodes}, first, last, Config{Library: "rccl", Kernel: algorithm, Protocol: protocol, Channels: channels}}
}

func writeRCCL(rules []Rule, o Options) (files []File, told []string) {
	var of []string
	for _, r := range rules {
		if gfx := gfxOf(r.System); !slices.Contains(of, gfx) {
			of = append(of, gfx)
		}
	}
	for _, gfx := range of {
		notes := []string{
			"For ROCm 7.13 or later, whose RCCL has the CSV tuner built in: no plug-in, which would take this file's place",
			"From ROCm 7.14 on DDA kernels take calls of 8 ranks on one node before the tuner is asked (RCCL_DDA_THRESHOLD): rows have no effect there",
		}
		vendors := rcclShipped[gfx]
		switch {
		case vendors != nil:
			notes = append(notes, fmt.Sprintf("Sizes without a row above are AMD's: the rows that RCCL ships for %s stand at the end", gfx))
		case gfx != "":
			notes = append(notes, fmt.Sprintf("Sizes without a row are RCCL's own choice: AMD ships no rows for %s", gfx))
		default:
			notes = append(notes, "Sizes without a row are RCCL's own choice, and not AMD's rows: on MI350X and MI355X, for which RCCL ships some, this file displaces them; state the system, as in --library NAME=FILE,system=mi355x")
		}
		var b bytes.Buffer
		b.Write(TunerText(slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return gfxOf(r.System) != gfx }), slices.Concat(o.Head, notes)))
		if vendors != nil {
			comment(&b, []string{"AMD's rows for " + gfx + " (ROCm/rocm-systems#4503, #9442)"})
		}
		for _, r := range vendors {
			b.WriteString(TunerLine(r) + "\n")
		}
		name := "colltune-table-rccl-tuner.conf"
		if gfx != "" {
			name = "colltune-table-" + gfx + "-rccl-tuner.conf"
		}
		files = append(files, File{name, b.Bytes()})
		told = append(told, notes...)
	}
	slices.Sort(told)
	return files, slices.Compact(told)
}
