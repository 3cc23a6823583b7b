package sim

import (
	"cmp"
	"slices"
)

// refinement is colour refinement: it parts nodes into the coarsest classes of which all
// members have equal keys and read as many nodes of each class in each role. A node that
// changes its class is reported to its readers alone, and of the parts of a class the
// largest keeps its number, so that a node changes at most log2 n times.
//
// Nodes are compared by 64-bit hashes of what they read: two of n classes are confused with
// a probability of n² ÷ 2^65.
type refinement struct {
	class   []int32  // by node
	reads   []uint64 // by node: sum over what it reads of the role and class, hashed
	from    []int32  // by node: the first of its readers
	readers []reader

	first, size []int32 // by class: its members in order
	order, at   []int32 // nodes by class, and where each stands
}

// reader is a node that reads another, and in which role.
type reader struct {
	node int32
	role uint64
}

type read func(node, other int32, role uint64)

// refine returns the class of each node. arcs lists what nodes read, and is called twice.
func refine(keys []uint64, arcs func(read)) (class []int32) {
	n := len(keys)
	r := &refinement{
		class: make([]int32, n), reads: make([]uint64, n), from: make([]int32, n+1),
		order: make([]int32, n), at: make([]int32, n),
	}
	arcs(func(_, other int32, _ uint64) { r.from[other+1]++ })
	for i := range n {
		r.from[i+1] += r.from[i]
	}
	r.readers = make([]reader, r.from[n])
	next := slices.Clone(r.from[:n])
	arcs(func(node, other int32, role uint64) {
		r.readers[next[other]] = reader{node, role}
		next[other]++
	})
	// One class of all is parted by keys, then by what is read.
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	copy(r.order, all)
	copy(r.at, all)
	r.first, r.size = []int32{0}, []int32{int32(n)}
	copy(r.reads, keys)
	r.part(all)
	for i, class := range r.class {
		for _, x := range r.readers[r.from[i]:r.from[i+1]] {
			r.reads[x.node] += mixed(x.role, uint64(class))
		}
	}
	touched := make([]bool, n)
	for concerned := all; len(concerned) > 0; {
		changes := r.part(concerned)
		concerned = concerned[:0]
		for _, c := range changes {
			for _, x := range r.readers[r.from[c.node]:r.from[c.node+1]] {
				r.reads[x.node] += mixed(x.role, uint64(r.class[c.node])) - mixed(x.role, uint64(c.was))
				if !touched[x.node] {
					touched[x.node] = true
					concerned = append(concerned, x.node)
				}
			}
		}
		for _, i := range concerned {
			touched[i] = false
		}
	}
	return r.class
}

// change is a node that is no longer of a class.
type change struct{ node, was int32 }

// likeness is what the members of a class have in common.
type likeness struct {
	class int32
	reads uint64
}

// part parts the classes of nodes that read something else than before; all other members
// of their classes still read the same.
func (r *refinement) part(concerned []int32) (changes []change) {
	var parts [][]int32
	at := make(map[likeness]int)
	for _, i := range concerned {
		key := likeness{r.class[i], r.reads[i]}
		nth, ok := at[key]
		if !ok {
			nth = len(parts)
			at[key] = nth
			parts = append(parts, nil)
		}
		parts[nth] = append(parts[nth], i)
	}
	slices.SortStableFunc(parts, func(a, b []int32) int { return cmp.Compare(r.class[a[0]], r.class[b[0]]) })
	for len(parts) > 0 {
		class, n := r.class[parts[0][0]], 1
		for n < len(parts) && r.class[parts[n][0]] == class {
			n++
		}
		changes = r.partOne(class, parts[:n], changes)
		parts = parts[n:]
	}
	return changes
}

// partOne splits parts from a class. What is left, or else the last part, stays where it is;
// the largest keeps the class's number.
func (r *refinement) partOne(class int32, parts [][]int32, changes []change) []change {
	first := len(r.first) // of the new classes
	for _, members := range parts {
		if int(r.size[class]) > len(members) {
			r.split(class, members)
		}
	}
	largest := class
	for c := first; c < len(r.first); c++ {
		if r.size[c] > r.size[largest] {
			largest = int32(c)
		}
	}
	r.first[class], r.first[largest] = r.first[largest], r.first[class]
	r.size[class], r.size[largest] = r.size[largest], r.size[class]
	for c := first; c < len(r.first); c++ {
		for _, i := range r.order[r.first[c] : r.first[c]+r.size[c]] {
			r.class[i] = int32(c)
			changes = append(changes, change{i, class})
		}
	}
	return changes
}

// split moves members of a class into a new one.
func (r *refinement) split(class int32, members []int32) {
	end := r.first[class] + r.size[class]
	for _, i := range members {
		end--
		other := r.order[end]
		r.order[end], r.order[r.at[i]] = i, other
		r.at[other], r.at[i] = r.at[i], end
	}
	r.size[class] -= int32(len(members))
	r.first, r.size = append(r.first, end), append(r.size, int32(len(members)))
}

// mixed hashes two numbers, two zeros as well, in splitmix64's way.
func mixed(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 1
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
