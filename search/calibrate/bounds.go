package calibrate

import (
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/topologies"
)

// Bound is a limit of a constant that a fit met: it went to it, or would be clearly better
// beyond.
type Bound struct {
	Constant string `json:"what"`  // launch, threadblocks, or a kind of link
	Limit    string `json:"limit"` // at most 28.3 us longer than in the file
	Because  string `json:"because"`
}

// What is bounded.
const (
	launch       = "launch"
	threadblocks = "threadblocks"
	links        = "links"
)

// bounds is what physics says of the constants: of launches in microseconds more than the
// file says, of the others as a multiple of it. The tightest of a side holds.
var bounds = []struct {
	of      string
	side    side
	at      func(*machine) float64
	because string
}{
	{launch, least, (*machine).none, "nothing runs before it is called"},
	{launch, most, (*machine).shortest, "no call is shorter than its launch"},
	{launch, most, (*machine).inTurn, "a thread that launches on a node's GPUs in turn was measured to take 2.9 to 6.3 us for each, and 10 is more than any"},
	{threadblocks, least, fixed(0.5), "GPUs of one architecture differ by less than a generation does, from A100 to H100, which is 2"},
	{threadblocks, most, fixed(2), "GPUs of one architecture differ by less than a generation does, from A100 to H100, which is 2"},
	{threadblocks, most, (*machine).sends, "a threadblock sends no faster than the widest link of a GPU"},
	{threadblocks, most, (*machine).receives, "a threadblock receives no faster than it reads memory"},
	{links, least, fixed(0.25), "links fall back to a half and a quarter of their lanes, or of their rate: below that it is a fault, or another link"},
	{links, most, (*machine).ofGeneration, "no link of its kind and generation carries more"},
	{links, most, (*machine).ofKind, "no link of its kind carries more"},
	{links, most, (*machine).guessed, "what was assumed, inferred or not measured was never off by more"},
}

// side is one of a constant's two.
type side uint8

const (
	least side = iota
	most
)

func (s side) String() string { return [...]string{"at least", "at most"}[s] }

func fixed(v float64) func(*machine) float64 { return func(*machine) float64 { return v } }

// limits are the bounds of a constant.
type limits struct {
	constant string
	at       [2]float64
	because  [2]string
}

// limitsOf returns the tightest bounds on a machine.
func limitsOf(of string, m *machine) limits {
	l := limits{constant: of, at: [2]float64{math.Inf(-1), math.Inf(1)}}
	for _, b := range bounds {
		if v := b.at(m); b.of == of && (b.side == least && v > l.at[least] || b.side == most && v < l.at[most]) {
			l.at[b.side], l.because[b.side] = v, b.because
		}
	}
	return l
}

// bound returns a side of the limits, of a constant of that name.
func (l limits) bound(s side, name string) Bound {
	text := fmt.Sprintf("%v %.3g times as fast as in the file", s, l.at[s])
	if l.constant == launch {
		text = fmt.Sprintf("at most %.1f us %s than in the file", math.Abs(l.at[s]), [...]string{least: "shorter", most: "longer"}[s])
	}
	return Bound{name, text, l.because[s]}
}

// machine is what bounds depend on.
type machine struct {
	*topologies.Topology
	shortestUS [3]float64            // of the calls that are fitted to, by protocol; infinite of none
	kind       topologies.LinkKind   // of link, whose bounds are asked for
	guesses    []topologies.LinkKind // kinds whose bandwidth the file guesses
}

// rates is what physical links of a kind carry each way, in GB/s, by generation: 16 lanes of
// PCIe 3.0 to 6.0; an NVLink of the first, of the second to the fourth, and of the fifth
// generation; an xGMI link of CDNA 2, 3 and 4; the ports of NICs. Between processors it is up to
// four links of 64 GB/s, whatever their kind is called.
var rates = map[topologies.LinkKind][]float64{
	topologies.PCIe:   {15.8, 31.5, 63, 126},
	topologies.NVLink: {20, 25, 50},
	topologies.XGMI:   {50, 64, 76.8},
	topologies.Net:    {12.5, 25, 50, 100},
	topologies.Host:   {256},
}

// ofGeneration is how many times as fast the links of the machine's kind could be, for the
// slowest generation that carries what the file says.
func (m *machine) ofGeneration() float64 {
	if slices.Contains(m.guesses, m.kind) {
		return math.Inf(1)
	}
	return m.room(func(rates []float64, of float64) float64 {
		i, _ := slices.BinarySearch(rates, of)
		return rates[min(i, len(rates)-1)]
	})
}

// ofKind is the same for the fastest generation.
func (m *machine) ofKind() float64 {
	return m.room(func(rates []float64, _ float64) float64 { return rates[len(rates)-1] })
}

// guessed is how many times as fast links may be whose bandwidth is a guess.
func (m *machine) guessed() float64 {
	if slices.Contains(m.guesses, m.kind) {
		return 4
	}
	return math.Inf(1)
}

// room is how many times as fast all links of the machine's kind could be, at least 1; limit is
// what one carries, of the rates of its kind.
func (m *machine) room(limit func(rates []float64, of float64) float64) float64 {
	times := math.Inf(1)
	for _, e := range m.Edges {
		from, to := m.Vertices[e.From].Kind, m.Vertices[e.To].Kind
		if e.Kind != m.kind || e.Kind == topologies.Net && (from != topologies.NIC || to != topologies.Fabric) {
			continue
		}
		of := e.Bandwidth.GBps() / float64(e.Count)
		times = math.Min(times, limit(rates[e.Kind], of)/of)
	}
	if math.IsInf(times, 1) {
		return 1 // cables: what the file says
	}
	return math.Max(times, 1)
}

// launches is those of the system's protocols in microseconds, as the file says.
func (m *machine) launches() []float64 {
	return lists.Map(m.HasProtocols(), func(p topologies.Proto) float64 { return float64(m.Protocols[p].Launch) })
}

// none is what makes the shortest launch none.
func (m *machine) none() float64 { return -slices.Min(m.launches()) }

// shortest is what makes a launch as long as the shortest call with its protocol.
func (m *machine) shortest() float64 {
	more := math.Inf(1)
	for _, p := range m.HasProtocols() {
		more = min(more, m.shortestUS[p]-float64(m.Protocols[p].Launch))
	}
	return max(more, 0)
}

// inTurn is what makes the longest launch that of all GPUs of a node one after the other.
func (m *machine) inTurn() float64 {
	return max(10*float64(len(m.NodeRanks(0)))-slices.Max(m.launches()), 0)
}

// sends is how many times as fast threadblocks could send, for the widest link out of a
// GPU.
func (m *machine) sends() float64 {
	widest := 0.0
	for _, e := range m.Edges {
		if e.From < len(m.Ranks) {
			widest = math.Max(widest, float64(e.Bandwidth))
		}
	}
	return m.within(widest, func(p *topologies.Protocol) float64 { return rate(p, float64(p.SendRate), float64(p.SendPass)) })
}

// receives is how many times as fast threadblocks could receive, for a GPU's memory.
func (m *machine) receives() float64 {
	memory := math.Inf(1)
	for _, r := range m.Ranks {
		if r.Memory > 0 {
			memory = math.Min(memory, float64(r.Memory))
		}
	}
	return m.within(memory, func(p *topologies.Protocol) float64 { return rate(p, float64(p.RecvRate), float64(p.RecvPass)) })
}

// within is by how much the fastest protocol's rate, in bytes a second, stays below a
// capacity; at least 1, as what a file says is taken as it is.
func (m *machine) within(capacity float64, rate func(*topologies.Protocol) float64) float64 {
	times := math.Inf(1)
	for _, p := range m.HasProtocols() {
		if of := rate(&m.Protocols[p]); of > 0 {
			times = math.Min(times, capacity/of)
		}
	}
	return math.Max(times, 1)
}

// rate is a protocol's rate in bytes a second, given as one or by the microseconds that
// it takes for a pass.
func rate(p *topologies.Protocol, given, passUS float64) float64 {
	if passUS > 0 {
		return float64(p.Pass) / passUS * 1e6
	}
	return given
}
