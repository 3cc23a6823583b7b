package search

import (
	"fmt"
	"slices"
)

// What a program may come to, in operations of all its ranks: a chunk sent on, or
// copied or reduced where it is, is one. Whatever is done with a program, from its
// trace to each of its trials, takes time and memory by them.
//
//	ranks  a ring's all-gather  instances tried
//	   72      5,184            all
//	  256     65,536            1, 2 and 4
//	1,024  1,048,576            1
//	2,048  4,194,304            none, but with --family ring
//	2,048     30,720 (two-level, recursive: 15 a rank): all
//
// What all drafts together may come to is in shortlist.go.
const (
	// maxReplicated limits programs with several instances, unless a rank has at most
	// maxReplicatedRank operations of all. In a search over hundreds of ranks there are
	// dozens of routings, and those with several channels of their own have most of the
	// advantages of more instances; but those of few steps gain by them on any system.
	maxReplicated     = 1 << 18
	maxReplicatedRank = 1 << 9
	// maxOperations limits every program.
	maxOperations = 1 << 21
)

// operations counts the operations of all instances.
func (d *draft) operations() int { return d.routing.operations() * max(d.instances, 1) }

// mostReplicated is how many operations a program of several instances may have.
func (e *enumeration) mostReplicated() int {
	return max(maxReplicated, maxReplicatedRank*len(e.problem.Topology.Ranks))
}

// tooLarge refuses a draft with more operations than a search handles. What flags
// ask for is not refused, nor is what the vendor's library chooses, however many
// its instances.
func (e *enumeration) tooLarge(d *draft) *Refusal {
	each, instances := d.routing.operations(), max(d.instances, 1)
	refuse := func(most int, flag string) *Refusal {
		return &Refusal{Reason: TooLarge, Detail: fmt.Sprintf("%d operations, %d in each of %d instances: want at most %d, or %s",
			each*instances, each, instances, most, flag)}
	}
	switch {
	case each*instances > maxOperations && !slices.Contains(e.options.Families, d.name):
		return refuse(maxOperations, "--family "+d.name)
	case each*instances > e.mostReplicated() && instances > 1 && e.options.Instances == 0 && len(d.points) == 0:
		return refuse(e.mostReplicated(), fmt.Sprintf("--instances %d", instances))
	}
	return nil
}
