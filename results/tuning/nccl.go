package tuning

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// NCCL's algorithms as its example tuner and NCCLX spell them, and its protocols, of which
// these have small letters. The example silently takes a name that it does not know for another.
var (
	algorithmNames = []string{"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"}
	protocolNames  = []string{"LL", "LL128", "Simple"}
)

// TunerCollectives are the collectives for which NCCL asks a tuner.
var TunerCollectives = []string{"broadcast", "reduce", "allgather", "reducescatter", "allreduce"}

// plain is a name of an algorithm in any spelling as ours.
func plain(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "") }

// tunerAlgorithm and tunerProtocol spell ours as theirs; "": there is none.
func tunerAlgorithm(kernel string) string {
	for _, name := range algorithmNames {
		if plain(name) == plain(kernel) {
			return name
		}
	}
	return ""
}

func tunerProtocol(protocol string) string { return strings.ToLower(knownProtocol(protocol)) }

// knownProtocol is a protocol as ours, whatever its letters' case; "": it is none.
func knownProtocol(protocol string) string {
	for _, name := range protocolNames {
		if strings.EqualFold(name, protocol) {
			return name
		}
	}
	return ""
}

// Tunable reports whether a row of a tuner can name an algorithm and a protocol.
func Tunable(kernel, protocol string) bool {
	return tunerAlgorithm(kernel) != "" && tunerProtocol(protocol) != ""
}

// ncclTuner is the configuration of NCCL's example tuner plugin (plugins/tuner/example/plugin.c
// at 5067397c), which has NCCL run one channel where no row matches.
var ncclTuner = Format{
	Name: "nccl-tuner-csv", Doc: "the configuration of NCCL's example tuner plugin",
	Pattern: `colltune-table-nccl-tuner\.conf`,
	Load:    "export NCCL_TUNER_PLUGIN=example NCCL_TUNER_CONFIG_FILE=<file>; build the plug-in with *nChannels = 0 at the beginning of its getCollInfo, as RCCL's copy has: as it is, calls that no row is for run with one channel",
	Lacks:   func(s Scope, c Config) string { return tunerLacks(s, c, "nccl", true) },
	Same:    tunerSame, Nodes: true,
	Own: ownChoice("nccl"), All: true,
	Write: func(rules []Rule, o Options) ([]File, []string) {
		return []File{{"colltune-table-nccl-tuner.conf", TunerText(rules, o.Head)}}, nil
	},
}

// ownChoice is Format.Own of a tuner's file: rows of the library that name none of its
// algorithms are of what it chose.
func ownChoice(library string) func(Config) bool {
	return func(c Config) bool {
		return c.Library == library && c.Protocol == "" && slices.Contains([]string{"", "auto", library}, strings.ToLower(c.Kernel))
	}
}

// tunerLacks is Lacks of the files that choose among NCCL's own algorithms.
func tunerLacks(s Scope, c Config, library string, channels bool) string {
	switch {
	case c.Library != library:
		return "it is of " + c.Library + ", and the file is " + library + "'s"
	case !slices.Contains(TunerCollectives, s.Collective):
		return "a tuner is not asked for " + s.Collective
	case !Tunable(c.Kernel, c.Protocol):
		return "its rows do not state an algorithm and a protocol that a tuner can name (kernel, protocol)"
	case channels && c.Channels < 1:
		return "its rows do not state channels, and without a number NCCL's example has NCCL run one"
	}
	return ""
}

func tunerSame(c Config) Config {
	return Config{Library: c.Library, Channels: c.Channels, Kernel: plain(tunerAlgorithm(c.Kernel)), Protocol: knownProtocol(c.Protocol)}
}

// TunerLine is a row of the example's file: of the sizes of a rule, nodes and ranks.
func TunerLine(r Rule) string {
	return fmt.Sprintf("%s,%d,%d,%s,%s,%d,%d,%d", r.Collective, r.First, r.Last,
		tunerAlgorithm(r.Kernel), tunerProtocol(r.Protocol), orAny(r.Channels), orAny(r.Nodes), r.Ranks)
}

// orAny is −1, which stands for any, where a number is not stated.
func orAny(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// TunerText is a file of the example's.
func TunerText(rules []Rule, head []string) []byte {
	var b bytes.Buffer
	comment(&b, head)
	b.WriteString("# collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks\n")
	for _, r := range rules {
		b.WriteString(TunerLine(r) + "\n")
	}
	return b.Bytes()
}
