package compiler

import (
	"fmt"
	"slices"
	"strings"
)

// pass is one row of the pipeline.
type pass struct {
	name     string
	doc      string
	required bool // without it the IR would be wrong or missing
	run      func(*unit) error
}

// passes is the pipeline, from top to bottom.
var passes = [...]pass{
	{"expand", "turn references into operations, and split those whose source and destination overlap", true, expand},
	{"parallelize", "replicate the operations of parallelize scopes, each instance on its part of the chunks", true, parallelize},
	{"instances", "replicate the whole program, each instance on its part of the chunks", true, instances},
	{"coarsen", "merge chunks that are always accessed together", false, coarsen},
	{"forward", "read the source of a copy instead of the copy, and remove copies that nobody reads", false, forward},
	{"deliver", "write a value directly to where a later copy would put it, and remove that copy", false, deliver},
	{"chunk dag", "find the dependencies of every operation, chunk by chunk", true, chunkDAG},
	{"scratch", "reuse scratch chunks where that adds no wait", false, scratch},
	{"instructions", "expand operations into sends, receives and local instructions", true, instructions},
	{"fuse rcs", "join a receive and the send of what it received", false, fuseRCS},
	{"fuse rrcs", "join a receiving reduction and the send of its result", false, fuseRRCS},
	{"fuse rrs", "drop the store of a forwarded reduction that nobody reads", false, fuseRRS},
	{"channels", "assign a channel to every message, one for all of a fused chain", true, channels},
	{"depths", "measure how far every instruction is from both ends of its longest chain", true, depths},
	{"order", "find the global order in which instructions are assigned to threadblocks", true, order},
	{"threadblocks", "create threadblocks and assign every instruction to one", true, threadblocks},
	{"homes", "move local instructions to threadblocks where the program is estimated to be shorter", false, homes},
	{"synchronise", "find the waits that program order and messages do not imply", true, synchronise},
	{"gather", "let consecutive reductions into one place wait for all their sources at once", false, gather},
	{"slots", "split threadblocks that would need more slots if every chunk were a call of its own", false, slots},
	{"emit", "write the IR", true, emit},
}

// passOrder is the order that the table must respect, with the reasons.
var passOrder = [...]struct{ before, after, why string }{
	{"expand", "parallelize", "instances would each cut overlapping references in an order of their own"},
	{"parallelize", "instances", "instances cut what scopes have cut"},
	{"instances", "coarsen", "replication leaves references that share a factor"},
	{"coarsen", "forward", "what an operation adds to lies elsewhere from then on"},
	{"forward", "deliver", "what was read through holds no copy in its place"},
	{"deliver", "chunk dag", "who writes what is told by the DAG"},
	{"forward", "chunk dag", "who reads what is told by the DAG"},
	{"coarsen", "chunk dag", "dependencies are tracked per chunk, and fewer chunks are fewer to track"},
	{"instances", "chunk dag", "an instance of a long reference meets several instances of short ones"},
	{"chunk dag", "scratch", "what is done before a place is used again is told by the DAG"},
	{"scratch", "instructions", "instructions name the places"},
	{"chunk dag", "instructions", "an instruction's waits are its operation's"},
	{"instructions", "fuse rcs", "there is nothing to fuse before"},
	{"fuse rrcs", "fuse rrs", "an rrs is an rrcs without its store"},
	{"fuse rcs", "channels", "a fused chain shares one channel"},
	{"fuse rrcs", "channels", "a fused chain shares one channel"},
	{"channels", "order", "messages of one connection arrive in the order they were sent"},
	{"depths", "order", "the order is by depth"},
	{"fuse rrs", "depths", "fusing shortens paths"},
	{"order", "threadblocks", "order may take fused instructions apart, which changes the pairs of connections"},
	{"threadblocks", "homes", "a local instruction is done by one of those there are"},
	{"homes", "synchronise", "what waits for what is told by the threadblocks"},
	{"threadblocks", "synchronise", "what one threadblock does in order needs no wait"},
	{"synchronise", "gather", "a run has no more waits to gather than are left"},
	{"synchronise", "emit", "the IR carries the waits"},
	{"gather", "slots", "gathering makes steps wait earlier"},
	{"slots", "emit", "the IR is of the last schedule"},
}

func init() {
	at := map[string]int{}
	for i, p := range passes {
		if _, twice := at[p.name]; twice {
			panic("pass " + p.name + " is listed twice")
		}
		at[p.name] = i
	}
	for _, o := range passOrder {
		i, ok := at[o.before]
		j, ok2 := at[o.after]
		if !ok || !ok2 || i >= j {
			panic(fmt.Sprintf("pass %q must come before %q: %s", o.before, o.after, o.why))
		}
	}
}

// Pass describes a pass for listing, timing and disabling it.
type Pass struct {
	Name     string
	Doc      string
	Required bool
}

// Passes lists the pipeline in order.
func Passes() []Pass {
	all := make([]Pass, len(passes))
	for i, p := range passes {
		all[i] = Pass{p.name, p.doc, p.required}
	}
	return all
}

// passIndex is the index of the named pass, or none.
func passIndex(name string) int {
	return slices.IndexFunc(passes[:], func(p pass) bool { return p.name == name })
}

// find returns the named pass.
func find(name string) (*pass, error) {
	if i := passIndex(name); i != none {
		return &passes[i], nil
	}
	names := make([]string, len(passes))
	for i := range passes {
		names[i] = passes[i].name
	}
	return nil, fmt.Errorf("unknown pass %q: want one of %s", name, strings.Join(names, ", "))
}

// disabled returns the set of passes to leave out.
func disabled(names []string) (map[string]bool, error) {
	skip := map[string]bool{}
	for _, n := range names {
		p, err := find(n)
		if err != nil {
			return nil, err
		}
		if p.required {
			return nil, fmt.Errorf("pass %q cannot be left out", n)
		}
		skip[n] = true
	}
	return skip, nil
}
