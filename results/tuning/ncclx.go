package tuning

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ncclxCSV and ncclxJSON are the rules of NCCLX's built-in tuner (torchcomms,
// comms/ncclx/meta/tuner at 59426ba4b): of the size of a rank's part, rounded down, of nodes
// and of the ranks of a node, each an interval. Of two rules that match, the first counts.
// A file with a rule that can't be read is refused whole.
var (
	ncclxCSV = Format{
		Name: "ncclx-csv", Doc: "NCCLX's tuner rules, as CSV",
		Pattern: `colltune-table-ncclx\.csv`,
		Load:    "export NCCLX_TUNER_CONFIG_FILE=<file>, an absolute path",
		Lacks:   ncclxLacks, Same: tunerSame, Nodes: true, Own: ownChoice("nccl"),
		Write: func(rules []Rule, o Options) ([]File, []string) {
			var b bytes.Buffer
			comment(&b, o.Head)
			b.WriteString("# collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks\n")
			all, told := ncclxRules(rules)
			for _, r := range all {
				fmt.Fprintf(&b, "%s,[%d,%d],%s,%s,%d,%d,%d\n", r.Collective, r.First, r.Last, tunerAlgorithm(r.Kernel), tunerProtocol(r.Protocol), orAny(r.Channels), r.Nodes, r.Ranks/r.Nodes)
			}
			return []File{{"colltune-table-ncclx.csv", b.Bytes()}}, told
		},
	}
	ncclxJSON = Format{
		Name: "ncclx-json", Doc: "the same rules as JSON, for an NCCLX built with folly",
		Pattern: `colltune-table-ncclx\.json`,
		Load:    "export NCCLX_TUNER_CONFIG_FILE=<file>, an absolute path",
		Lacks:   ncclxLacks, Same: tunerSame, Nodes: true, Own: ownChoice("nccl"),
		Write: writeNCCLXJSON,
	}
)

func ncclxLacks(s Scope, c Config) string {
	switch why := tunerLacks(s, c, "nccl", false); {
	case why != "":
		return why
	case s.Nodes == 0:
		return "the number of nodes is not stated, and the file has ranks only by node"
	case s.Ranks%s.Nodes != 0:
		return "its nodes have unequal numbers of ranks"
	}
	return ""
}

// ncclxRules turns sizes into those of a rank's part, rounded down as NCCLX does. A range
// begins at the first part that is wholly in it.
func ncclxRules(rules []Rule) (all []Rule, told []string) {
	for _, of := range scopes(rules) {
		n := int64(of[0].Ranks)
		for i, r := range of {
			last := r.Last / n
			if i+1 < len(of) && of[i+1].First == r.Last+1 {
				last = (of[i+1].First+n-1)/n - 1
			}
			if r.First%n != 0 && i > 0 {
				told = append(told, fmt.Sprintf("%s: the range from %d bytes begins at %d: the file has only sizes of a rank's part", r.Scope, r.First, (r.First+n-1)/n*n))
			}
			first := (r.First + n - 1) / n
			if i == 0 {
				first = r.First / n
			}
			r.First, r.Last = first, last
			if first <= last {
				all = append(all, r)
			}
		}
	}
	return all, told
}

type ncclxRule struct {
	Filter struct {
		Collective   string `json:"collective"`
		BytesPerRank string `json:"bytesPerRank"`
		Nodes        int    `json:"nNodes"`
		LocalRanks   int    `json:"nLocalRanks"`
	} `json:"filter"`
	Config struct {
		Algorithm string `json:"algorithm"`
		Protocol  string `json:"protocol"`
		Channels  int    `json:"channels,omitempty"`
	} `json:"config"`
}

func writeNCCLXJSON(rules []Rule, o Options) ([]File, []string) {
	all, told := ncclxRules(rules)
	d := struct {
		Provenance []string    `json:"provenance"`
		Rules      []ncclxRule `json:"rules"`
	}{o.Head, []ncclxRule{}}
	for _, r := range all {
		var n ncclxRule
		n.Filter.Collective, n.Filter.BytesPerRank = r.Collective, fmt.Sprintf("[%d,%d]", r.First, r.Last)
		n.Filter.Nodes, n.Filter.LocalRanks = r.Nodes, r.Ranks/r.Nodes
		n.Config.Algorithm, n.Config.Protocol, n.Config.Channels = tunerAlgorithm(r.Kernel), tunerProtocol(r.Protocol), r.Channels
		d.Rules = append(d.Rules, n)
	}
	return []File{{"colltune-table-ncclx.json", indented(d)}}, told
}

// indented is a value as JSON. The types of this package can all be written.
func indented(v any) []byte {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}
