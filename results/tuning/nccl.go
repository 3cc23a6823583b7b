package tuning

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// NCCL's algorithms and protocols as its example tuner and NCCLX spell them, by our names.
// The example silently takes a name that it does not know for another.
var (
	algorithmNames = spellings{
		{"tree", "tree"}, {"ring", "ring"}, {"collnetdirect", "collnet_direct"}, {"collnetchain", "collnet_chain"},
		{"nvls", "nvls"}, {"nvlstree", "nvls_tree"}, {"pat", "pat"},
	}
	protocolNames = spellings{{"LL", "ll"}, {"LL128", "ll128"}, {"Simple", "simple"}}
)

type spellings []struct{ ours, theirs string }

// TunerCollectives are the collectives for which NCCL asks a tuner.
var TunerCollectives = []string{"broadcast", "reduce", "allgather", "reducescatter", "allreduce"}

// tunerAlgorithm and tunerProtocol spell ours as theirs; "": there is none.
func tunerAlgorithm(kernel string) string {
	key := strings.ReplaceAll(strings.ToLower(kernel), "_", "")
	for _, n := range algorithmNames {
		if n.ours == key {
			return n.theirs
		}
	}
	return ""
}

func tunerProtocol(protocol string) string {
	for _, n := range protocolNames {
		if strings.EqualFold(n.ours, protocol) {
			return n.theirs
		}
	}
	return ""
}

// Tunable reports whether a row of a tuner can name an algorithm and a protocol.
func Tunable(kernel, protocol string) bool {
	return tunerAlgorithm(kernel) != "" && tunerProtocol(protocol) != ""
}

// ours spells theirs as ours; ok: the name is known.
func (s spellings) ours(name string) (_ string, ok bool) {
	for _, n := range s {
		if n.theirs == name {
			return n.ours, true
		}
	}
	return "", false
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
	Read: func(name string, text []byte) (Reader, error) { return readTuner(text, "nccl", 1), nil },
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
	same := Config{Library: c.Library, Channels: c.Channels}
	same.Kernel, _ = algorithmNames.ours(tunerAlgorithm(c.Kernel))
	same.Protocol, _ = protocolNames.ours(tunerProtocol(c.Protocol))
	return same
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

// tunerRow is a row as the example keeps it.
type tunerRow struct {
	collective          string
	min, max            uint64
	algorithm, protocol string
	channels            int
	nodes, ranks        int // −1: any
}

type tunerFile struct {
	library  string
	channels int // where no row sets them
	rows     []tunerRow
}

// readTuner reads as the example does, which knows no error: it takes lines in pieces of 255
// bytes, leaves out those of fewer than 8 fields, takes an unknown collective for an
// all-reduce, an unknown algorithm for a ring and an unknown protocol for Simple, and of a
// number what it begins with.
func readTuner(text []byte, library string, channels int) Reader {
	const piece = 255
	f := &tunerFile{library: library, channels: channels}
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		n = min(n, piece)
		line := string(text[:n])
		text = text[n:]
		if i := strings.IndexByte(line, 0); i >= 0 {
			line = line[:i]
		}
		if line == "" || line[0] == '#' || line[0] == '\n' {
			continue
		}
		line, _, _ = strings.Cut(line, "\n")
		var fields []string
		for _, field := range strings.Split(line, ",") {
			if field != "" && len(fields) < 10 { // of commas in a row, one counts
				fields = append(fields, strings.Trim(field, " \t"))
			}
		}
		if len(fields) < 8 || len(f.rows) == maxEntries {
			continue
		}
		row := tunerRow{collective: fields[0], min: number(fields[1]), max: number(fields[2]), algorithm: "ring", protocol: "Simple",
			channels: whole(fields[5]), nodes: whole(fields[6]), ranks: whole(fields[7])}
		if !slices.Contains(TunerCollectives, row.collective) {
			row.collective = "allreduce"
		}
		if name, ok := algorithmNames.ours(fields[3]); ok {
			row.algorithm = name
		}
		if name, ok := protocolNames.ours(fields[4]); ok {
			row.protocol = name
		}
		if len(fields) > 8 && whole(fields[8]) != -1 && whole(fields[8]) != 1 || len(fields) > 9 && whole(fields[9]) != -1 && whole(fields[9]) != 0 {
			continue // for calls in groups, or with registered buffers, alone
		}
		f.rows = append(f.rows, row)
	}
	return f
}

// number is what strtoull makes of a text, and whole what atoi does.
func number(s string) uint64 {
	s = strings.TrimPrefix(strings.TrimLeft(s, " \t\v\f\r"), "+")
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	v, err := strconv.ParseUint(s[:n], 10, 64)
	if err != nil && n > 0 {
		return ^uint64(0)
	}
	return v
}

func whole(s string) int {
	s = strings.TrimLeft(s, " \t\v\f\r")
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		return -int(int32(number(rest)))
	}
	return int(int32(number(s)))
}

// Choose returns what the first row that matches says.
func (f *tunerFile) Choose(call Scope, bytes int64) (Config, bool) {
	matches := func(want, have int) bool { return want == -1 || want == have }
	for _, r := range f.rows {
		if r.collective == call.Collective && uint64(bytes) >= r.min && uint64(bytes) <= r.max && matches(r.nodes, call.Nodes) && matches(r.ranks, call.Ranks) {
			c := Config{Library: f.library, Kernel: r.algorithm, Protocol: r.protocol, Channels: f.channels}
			if r.channels != -1 {
				c.Channels = r.channels
			}
			return c, true
		}
	}
	return Config{Library: f.library, Channels: f.channels}, false // of the library's own choice
}
