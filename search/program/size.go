package program

import (
	"fmt"
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
// What all drafts together may come to is search/shortlist.go's to say.
const (
	// maxReplicated limits programs with several instances, unless a rank has at most
	// maxReplicatedRank operations of all. In a search over hundreds of ranks there are
	// dozens of routings, and those with several channels of their own have most of the
	// advantages of more instances; but those of few steps gain by them on any system.
	maxReplicated     = 1 << 18
	maxReplicatedRank = 1 << 9
	// MaxOperations limits every program but those of families that were asked for.
	MaxOperations = 1 << 21
)

// mostReplicated is how many operations a program of several instances may have over a number of
// ranks.
func mostReplicated(ranks int) int {
	return max(maxReplicated, maxReplicatedRank*ranks)
}

// tooLarge refuses a draft with more operations than a search handles. What flags
// ask for is not refused, nor is what the vendor's library chooses, however many
// its instances.
func (b *Builder) tooLarge(d *Draft) *Refusal {
	each, instances, replicated := d.Routing.Operations(), max(d.Instances, 1), mostReplicated(len(b.target.Topology.Ranks))
	refuse := func(most int, flag string) *Refusal {
		return &Refusal{Reason: TooLarge, Detail: fmt.Sprintf("%d operations, %d in each of %d instances: want at most %d, or %s",
			each*instances, each, instances, most, flag)}
	}
	switch {
	case each*instances > MaxOperations && !b.options.asked(d.Name):
		return refuse(MaxOperations, "--family "+d.Name)
	case each*instances > replicated && instances > 1 && b.options.Instances == 0 && !d.Compared:
		return refuse(replicated, fmt.Sprintf("--instances %d", instances))
	}
	return nil
}
