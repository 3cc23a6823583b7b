package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/topologies"
)

// link is one line of a drawing: a single edge, or both directions of a cable
// drawn as one. The two directions may differ in latency, because a NIC's message
// cost is charged only to what leaves it; the larger value is shown.
type link struct {
	a, b int // vertices
	both bool
	topologies.Edge
}

// linksOf lists the links of a topology in the order of their edges.
func linksOf(t *topologies.Topology) []link {
	type key struct {
		from, to int
		kind     topologies.LinkKind
	}
	at := map[key]int{}
	for i, e := range t.Edges {
		at[key{e.From, e.To, e.Kind}] = i
	}
	var all []link
	for i, e := range t.Edges {
		j, two := at[key{e.To, e.From, e.Kind}]
		two = two && t.Edges[j].Bandwidth == e.Bandwidth && t.Edges[j].Count == e.Count
		if two && j < i {
			continue
		}
		l := link{a: e.From, b: e.To, both: two, Edge: e}
		if two {
			l.Latency = max(l.Latency, t.Edges[j].Latency)
			l.Message = max(l.Message, t.Edges[j].Message)
		}
		all = append(all, l)
	}
	return all
}

// wire describes a link's properties for a reader: count, bandwidth and latency.
// Links with equal descriptions are grouped together.
func (l link) wire() string {
	s := fmt.Sprintf("%v, %v", l.Bandwidth, l.Latency)
	if l.Count > 1 {
		s = fmt.Sprintf("%d links, %s", l.Count, s)
	}
	if l.Message > 0 {
		s += fmt.Sprintf(", %v a message", l.Message)
	}
	return s
}

// kinds groups identical nodes, those with the same vertices and links, so that
// each kind is drawn once. Groups are in the order of their first node.
func kinds(t *topologies.Topology) [][]int {
	signature := make([]strings.Builder, t.Nodes)
	at := make([]int, len(t.Vertices))
	size := make([]int, t.Nodes)
	for v, x := range t.Vertices {
		at[v] = -1
		if x.Node < 0 {
			continue
		}
		at[v] = size[x.Node]
		size[x.Node]++
		fmt.Fprintf(&signature[x.Node], "%d %q\n", x.Kind, x.Name)
		if v < len(t.Ranks) {
			fmt.Fprintf(&signature[x.Node], "%d %d\n", t.Ranks[v].SMs, t.Ranks[v].Memory)
		}
	}
	for _, e := range t.Edges {
		from, to := t.Vertices[e.From].Node, t.Vertices[e.To].Node
		if from >= 0 && (to == from || to < 0) {
			fmt.Fprintf(&signature[from], "%d>%d %d %d %d %v %v\n", at[e.From], at[e.To], e.Kind, e.Count, e.Bandwidth, e.Latency, e.Message)
		}
	}
	var groups [][]int
	first := map[string]int{}
	for node := range t.Nodes {
		s := signature[node].String()
		g, ok := first[s]
		if !ok {
			g = len(groups)
			first[s] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], node)
	}
	return groups
}

// ranges prints numbers compactly in rising order, as in 0-7,9.
func ranges(ns []int) string {
	slices.Sort(ns)
	var parts []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		part := strconv.Itoa(ns[i])
		if j > i {
			part += "-" + strconv.Itoa(ns[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// named lists vertices by name and merges those that differ only in a trailing
// number: gpu 0-3. With outer set, each name also says which node it is on.
func named(t *topologies.Topology, vertices []int, outer bool) string {
	stems := map[string][]int{}
	var order, alone []string
	for _, v := range vertices {
		name := safe.Line(t.Vertices[v].Name)
		if node := t.Vertices[v].Node; outer && node >= 0 {
			name = fmt.Sprintf("node %d %s", node, name)
		}
		stem, number, _ := cutLast(name)
		n, err := strconv.Atoi(number)
		if err != nil {
			if !slices.Contains(alone, name) {
				alone = append(alone, name)
			}
			continue
		}
		if stems[stem] == nil {
			order = append(order, stem)
		}
		stems[stem] = append(stems[stem], n)
	}
	var parts []string
	for _, stem := range order {
		parts = append(parts, stem+" "+ranges(slices.Compact(slices.Sorted(slices.Values(stems[stem])))))
	}
	return strings.Join(append(parts, alone...), ", ")
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// joint describes who is connected to whom by links of the same wire: "=" joins
// two ends both ways, ">" one way only.
func joint(t *topologies.Topology, links []link, outer bool) string {
	var parts []string
	for _, both := range []bool{true, false} {
		to := map[int][]int{} // near ends by far end
		var far []int
		for _, l := range links {
			if l.both != both {
				continue
			}
			a, b := l.a, l.b
			if both && t.Vertices[a].Kind > t.Vertices[b].Kind {
				a, b = b, a
			}
			if to[b] == nil {
				far = append(far, b)
			}
			to[b] = append(to[b], a)
		}
		// Far ends that connect to the same near ends are listed in one phrase.
		told := map[string][]int{}
		var order []string
		for _, b := range far {
			near := named(t, to[b], outer)
			if told[near] == nil {
				order = append(order, near)
			}
			told[near] = append(told[near], b)
		}
		for _, near := range order {
			sign := " = "
			if !both {
				sign = " > "
			}
			parts = append(parts, near+sign+named(t, told[near], outer))
		}
	}
	return strings.Join(parts, "; ")
}

// classes groups links of the same kind and wire. Classes are sorted by kind and
// keep, within a kind, the order in which they first appear.
func classes(links []link) [][]link {
	at := map[string]int{}
	var all [][]link
	for _, l := range links {
		k := l.Kind.String() + " " + l.wire()
		i, ok := at[k]
		if !ok {
			i = len(all)
			at[k] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], l)
	}
	slices.SortStableFunc(all, func(a, b []link) int { return cmp.Compare(a[0].Kind, b[0].Kind) })
	return all
}
