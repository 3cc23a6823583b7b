package tuning

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
)

// mcrdlBackends are MCR-DL's names of back ends (mcr_dl/constants.py). PyTorch and MCR-DL use
// NCCL's name for RCCL, too. SCCL is the interpreter from which MSCCL was developed.
var mcrdlBackends = map[string]string{
	"nccl": "nccl", "rccl": "nccl", "mpi": "mpi", "ccl": "ccl", "oneccl": "ccl", "gloo": "gloo", "sccl": "sccl", "msccl": "sccl", "hccl": "hccl",
}

// MCRDLBackend is MCR-DL's name of a library; "": it has none.
func MCRDLBackend(library string) string { return mcrdlBackends[strings.ToLower(library)] }

// MCRDLOperation returns MCR-DL's name of a collective (mcr_dl/comm.py), and how many messages
// its size counts; "": it has none. Its tables go by the size of the tensor that a rank hands
// in, which is a rank's part, or all of it.
func MCRDLOperation(s Scope) (name string, messages int64) {
	name, messages = collective.MCRDL.OfCollective(s.Collective), 1
	if s.Collective == "allgather" || s.Collective == "gather" {
		messages = int64(max(s.Ranks, 1))
	}
	return name, messages
}

// MCRDLCollectives lists the collectives of MCR-DL's operations.
func MCRDLCollectives() []string { return slices.Sorted(slices.Values(collective.MCRDL.Collectives())) }

// mcrdl is the table by which MCR-DL's "auto" takes a back end for each message size (MCR-DL
// section V-F, Table II): a file an operation. MCR-DL as released (v0.1) reads none.
var mcrdl = Format{
	Name: "mcr-dl", Doc: "the table by which MCR-DL takes a backend for each message size",
	Pattern: `colltune-table-.*-mcr-dl\.csv`,
	Load:    "MCR-DL as released (v0.1) runs one backend at a time and reads no such table: <file> is that of its paper, section V-F, for a build that mixes backends",
	Lacks: func(s Scope, c Config) string {
		switch name, _ := MCRDLOperation(s); {
		case name == "":
			return fmt.Sprintf("MCR-DL's tables have no %s, only %s", s.Collective, strings.Join(MCRDLCollectives(), ", "))
		case MCRDLBackend(c.Library) == "":
			return "MCR-DL has no backend of the name " + c.Library
		}
		return ""
	},
	Same: func(c Config) Config { return Config{Library: MCRDLBackend(c.Library)} },
	Each: true,
	Write: func(rules []Rule, o Options) (files []File, told []string) {
		slices.SortStableFunc(rules, func(a, b Rule) int { return strings.Compare(a.Collective, b.Collective) })
		for _, of := range groups(rules, func(a, b Rule) bool { return a.Collective == b.Collective }) {
			text, without := MCRDLText(of, o.Head, "")
			files = append(files, File{"colltune-table-" + FileWord(of[0].Collective) + "-mcr-dl.csv", text})
			for _, bytes := range without {
				told = append(told, fmt.Sprintf("%s: at %d bytes a rank's part is no whole number of bytes of its own", of[0].Collective, bytes))
			}
		}
		return files, told
	},
}

// MCRDLText is a table of one collective: an entry a rule, for the message of its first size,
// of elements of a type if it is not empty. without are the sizes of rules whose message is no
// whole number of bytes, or the one before.
func MCRDLText(rules []Rule, head []string, dtype string) (text []byte, without []int64) {
	var b bytes.Buffer
	comment(&b, head)
	operation, _ := MCRDLOperation(rules[0].Scope)
	if dtype != "" {
		operation += " of " + dtype
	}
	fmt.Fprintf(&b, "# %s\nworld_size,message_bytes,backend\n", operation)
	var before Rule
	var last int64
	for _, r := range rules {
		_, messages := MCRDLOperation(r.Scope)
		message := (r.First + messages - 1) / messages
		if r.First < messages || before.Scope == r.Scope && message == last {
			without = append(without, r.First)
			continue
		}
		before, last = r, message
		fmt.Fprintf(&b, "%d,%d,%s\n", r.Ranks, message, MCRDLBackend(r.Library))
	}
	return b.Bytes(), without
}
