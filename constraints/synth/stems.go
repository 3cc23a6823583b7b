package synth

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/constraints/symmetry"
)

// stem stands for all sources that automorphisms map to each other.
type stem struct {
	*brancher
	class int   // the first of its classes of items
	count int64 // chunks in total, where the collective has one
	all   []branching
	loads [][]int64 // by branching, over all automorphisms: loads by kind × steps + step
	share []float64 // by branching: its share in the best mix known
	seen  map[string]bool
}

// root finds the stems, and for each class the automorphisms by which it follows from
// its stem.
func (b *branches) root() {
	p := b.one
	var images [][]int
	for _, r := range p.automorphisms() {
		images = append(images, r.classes)
	}
	b.stemOf = make([]int, len(p.classes))
	known := newSets(p.net.ranks, b.steps)
	for c, first := range symmetry.Orbits(len(p.classes), images) {
		if c == first {
			it := &p.items[p.classes[c][0]]
			b.stemOf[c] = len(b.stems)
			b.stems = append(b.stems, &stem{brancher: newBrancher(known, p.net, b.steps, it.source, it.wanted), class: c, seen: map[string]bool{}})
		}
		b.stemOf[c] = b.stemOf[first]
		b.stems[b.stemOf[c]].count += int64(len(p.classes[c]))
	}
}

// move lists the automorphisms of a stem's lanes for each class: all of them, or as
// many as are found first.
func (b *branches) move() {
	if b.moved != nil {
		return
	}
	p := b.one
	b.moved = make([][][]int32, len(p.classes))
	for _, s := range b.stems {
		type place struct {
			class int
			lanes []int32
		}
		same := make([]int32, len(p.net.lanes))
		for l := range same {
			same[l] = int32(l)
		}
		b.moved[s.class] = [][]int32{same}
		for queue := []place{{s.class, same}}; len(queue) > 0; queue = queue[1:] {
			for _, r := range p.automorphisms() {
				to, lanes := r.classes[queue[0].class], make([]int32, len(same))
				for l, at := range queue[0].lanes {
					lanes[l] = r.lanes[at]
				}
				if len(b.moved[to]) < manyMoved && !slices.ContainsFunc(b.moved[to], func(o []int32) bool { return slices.Equal(o, lanes) }) {
					b.moved[to] = append(b.moved[to], lanes)
					queue = append(queue, place{to, lanes})
				}
			}
		}
	}
}

// add adds a branching, unless one with the same loads is known.
func (b *branches) add(s *stem, br branching) bool {
	load := make([]int64, len(b.width)*b.steps)
	for _, h := range br {
		for _, e := range b.one.net.lanes[h.lane].links {
			if k := b.kinds[e]; k >= 0 {
				load[k*b.steps+h.step]++
			}
		}
	}
	name := fmt.Sprint(load)
	if s.seen[name] {
		return false
	}
	s.seen[name] = true
	s.all, s.loads = append(s.all, br), append(s.loads, load)
	return true
}

// known is the number of branchings.
func (b *branches) known() (n int) {
	for _, s := range b.stems {
		n += len(s.all)
	}
	return n
}
