package compiler

import (
	"fmt"
	"slices"
	"strings"
)

// Pass is one row of the pipeline.
type Pass struct {
	Name     string
	Doc      string
	Required bool // without it the IR would be wrong or missing
	run      func(*program) error
}

// passes is the pipeline, from top to bottom.
var passes = [...]Pass{
	{"expand", "turn references into operations, and split those whose source and destination overlap", true, expand},
	{"parallelize", "replicate the operations of parallelize scopes, each instance on its part of the chunks", true, parallelize},
	{"instances", "replicate the whole program, each instance on its part of the chunks", true, instances},
	{"coarsen", "merge chunks that are always accessed together", false, coarsen},
	{"propagate copies", "read the source of a copy instead of the copy, and remove copies that are no longer read", false, propagateCopies},
	{"sink copies", "write a value directly to the destination of a later copy, and remove that copy", false, sinkCopies},
	{"chunk dag", "find the dependencies of every operation, chunk by chunk", true, chunkDAG},
	{"scratch", "reuse scratch chunks where that adds no wait", false, scratch},
	{"instructions", "expand operations into sends, receives and local instructions", true, instructions},
	{"fuse rcs", "merge a receive with the send of the same chunks", false, fuseRCS},
	{"fuse rrcs", "merge a receiving reduction with the send of its result", false, fuseRRCS},
	{"fuse rrs", "drop the store of a forwarded reduction if it is never read", false, fuseRRS},
	{"channels", "assign a channel to every message, one for all of a fused chain", true, channels},
	{"depths", "compute every instruction's longest path from the start and to the end", true, depths},
	{"order", "find the global order in which instructions are assigned to threadblocks", true, order},
	{"threadblocks", "create threadblocks and assign every instruction to one", true, threadblocks},
	{"place local", "move local instructions to other threadblocks if the program is estimated to be faster", false, placeLocal},
	{"synchronise", "find the waits that program order and messages do not imply", true, synchronise},
	{"hoist waits", "move the waits of consecutive reductions into one place before the first", false, hoistWaits},
	{"slots", "split threadblocks that would need more slots if every chunk were a separate call", false, slots},
	{"emit", "write the IR", true, emit},
}

// passOrder is the order that the table must respect, with the reasons.
var passOrder = [...]struct{ before, after, why string }{
	{"expand", "parallelize", "an overlapping reference must be split before it is replicated, or every instance would split its own"},
	{"parallelize", "instances", "instances subdivide the parts that scopes make"},
	{"instances", "coarsen", "replication leaves offsets and counts that share a factor"},
	{"coarsen", "propagate copies", "from then on a reduction's operand may be elsewhere than its destination, which coarsen does not handle"},
	{"propagate copies", "sink copies", "fewer copies are left to sink"},
	{"sink copies", "chunk dag", "it changes what operations write"},
	{"propagate copies", "chunk dag", "it changes what operations read"},
	{"coarsen", "chunk dag", "dependencies are tracked per chunk, so fewer chunks take less time"},
	{"instances", "chunk dag", "an instance of a long reference overlaps several instances of short ones"},
	{"chunk dag", "scratch", "the DAG shows which accesses complete before a place is reused"},
	{"scratch", "instructions", "instructions contain the final places"},
	{"chunk dag", "instructions", "instructions inherit their operation's dependencies"},
	{"instructions", "fuse rcs", "fusion works on instructions"},
	{"fuse rrcs", "fuse rrs", "an rrs is an rrcs without its store"},
	{"fuse rcs", "channels", "a fused chain shares one channel"},
	{"fuse rrcs", "channels", "a fused chain shares one channel"},
	{"channels", "order", "the order keeps the messages of each connection first in, first out"},
	{"depths", "order", "instructions are ordered by depth"},
	{"fuse rrs", "depths", "fusion shortens paths"},
	{"order", "threadblocks", "order may split fused instructions, which changes the pairs of connections"},
	{"threadblocks", "place local", "it chooses among existing threadblocks"},
	{"place local", "synchronise", "waits depend on which threadblock runs each instruction"},
	{"threadblocks", "synchronise", "steps of one threadblock need no waits between them"},
	{"synchronise", "hoist waits", "only the waits that are left are hoisted"},
	{"synchronise", "emit", "the IR contains the waits"},
	{"hoist waits", "slots", "steps that wait earlier may need more slots"},
	{"slots", "emit", "the schedule is made again until its slots suffice"},
}

func init() {
	at := map[string]int{}
	for i, p := range passes {
		if _, twice := at[p.Name]; twice {
			panic("pass " + p.Name + " is listed twice")
		}
		at[p.Name] = i
	}
	for _, o := range passOrder {
		i, ok := at[o.before]
		j, ok2 := at[o.after]
		if !ok || !ok2 || i >= j {
			panic(fmt.Sprintf("pass %q must come before %q: %s", o.before, o.after, o.why))
		}
	}
}

// Passes lists the pipeline in order.
func Passes() []Pass { return slices.Clone(passes[:]) }

// passIndex returns the index of the named pass, or none.
func passIndex(name string) int {
	return slices.IndexFunc(passes[:], func(p Pass) bool { return p.Name == name })
}

func find(name string) (*Pass, error) {
	if i := passIndex(name); i != none {
		return &passes[i], nil
	}
	names := make([]string, len(passes))
	for i := range passes {
		names[i] = passes[i].Name
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
		if p.Required {
			return nil, fmt.Errorf("pass %q cannot be left out", n)
		}
		skip[n] = true
	}
	return skip, nil
}
