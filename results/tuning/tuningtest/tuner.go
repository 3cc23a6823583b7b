package tuningtest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/results/tuning"
)

// NCCL's algorithms and protocols by the names that files have for them.
var (
	algorithms = map[string]string{
		"tree": "tree", "ring": "ring", "collnet_direct": "collnetdirect", "collnet_chain": "collnetchain", "nvls": "nvls", "nvls_tree": "nvlstree", "pat": "pat",
	}
	protocols = map[string]string{"ll": "LL", "ll128": "LL128", "simple": "Simple"}
)

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
		if !slices.Contains(tuning.TunerCollectives, row.collective) {
			row.collective = "allreduce"
		}
		if name, ok := algorithms[fields[3]]; ok {
			row.algorithm = name
		}
		if name, ok := protocols[fields[4]]; ok {
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
func (f *tunerFile) Choose(call tuning.Scope, bytes int64) (tuning.Config, bool) {
	matches := func(want, have int) bool { return want == -1 || want == have }
	for _, r := range f.rows {
		if r.collective == call.Collective && uint64(bytes) >= r.min && uint64(bytes) <= r.max && matches(r.nodes, call.Nodes) && matches(r.ranks, call.Ranks) {
			c := tuning.Config{Library: f.library, Kernel: r.algorithm, Protocol: r.protocol, Channels: f.channels}
			if r.channels != -1 {
				c.Channels = r.channels
			}
			return c, true
		}
	}
	return tuning.Config{Library: f.library, Channels: f.channels}, false // of the library's own choice
}
