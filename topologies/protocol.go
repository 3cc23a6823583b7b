package topologies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/units"
)

// moves is the set of protocols that have a constant.
type moves uint8

const (
	always   moves = iota
	inPasses       // LL, LL128
	inSlices       // Simple
)

func (m moves) of(p Proto) bool {
	return m == always || (m == inSlices) == (p == Simple)
}

// constant is a row of the table of constants in [protocol.*]: the key, which
// protocols have it, and its field.
type constant struct {
	key   string
	moves moves
	field func(*Protocol) any // *units.Duration, *units.Bytes, *units.Bandwidth, *int, *ratio, *[]units.Bytes
}

// ratio is a number without a unit, written 2, 1.5 or "16/15".
type ratio float64

var constants = []constant{
	{"launch", always, func(p *Protocol) any { return &p.Launch }},
	{"wire", always, func(p *Protocol) any { return (*ratio)(&p.Wire) }},
	{"packets", always, func(p *Protocol) any { return (*ratio)(&p.Packets) }},
	{"slots", always, func(p *Protocol) any { return &p.Slots }},
	{"threads", always, func(p *Protocol) any { return &p.Threads }},
	{"tile", always, func(p *Protocol) any { return &p.Tile }},
	{"tiles", always, func(p *Protocol) any { return &p.Tiles }},
	{"latency", always, func(p *Protocol) any { return &p.Latency }},
	{"credit", always, func(p *Protocol) any { return &p.Credit }},
	{"net_latency", always, func(p *Protocol) any { return &p.NetLatency }},
	{"net_start", always, func(p *Protocol) any { return &p.NetStart }},
	{"net_rate", always, func(p *Protocol) any { return &p.NetRate }},
	{"net_eager", always, func(p *Protocol) any { return &p.NetEager }},
	{"net_rendezvous", always, func(p *Protocol) any { return &p.NetRendezvous }},
	{"send_call", always, func(p *Protocol) any { return &p.SendCall }},
	{"recv_call", always, func(p *Protocol) any { return &p.RecvCall }},
	{"dep", always, func(p *Protocol) any { return &p.Dep }},
	{"nop", always, func(p *Protocol) any { return &p.Nop }},
	{"pass", inPasses, func(p *Protocol) any { return &p.Pass }},
	{"send_pass", inPasses, func(p *Protocol) any { return &p.SendPass }},
	{"recv_pass", inPasses, func(p *Protocol) any { return &p.RecvPass }},
	{"min_pass", inPasses, func(p *Protocol) any { return &p.MinPass }},
	{"send_rate", inSlices, func(p *Protocol) any { return &p.SendRate }},
	{"recv_rate", inSlices, func(p *Protocol) any { return &p.RecvRate }},
	{"send_slice", inSlices, func(p *Protocol) any { return &p.SendSlice }},
	{"recv_slice", inSlices, func(p *Protocol) any { return &p.RecvSlice }},
	{"min_copy", inSlices, func(p *Protocol) any { return &p.MinCopy }},
	{"reduce_pass", always, func(p *Protocol) any { return &p.ReducePass }},
	{"copy_pass", always, func(p *Protocol) any { return &p.CopyPass }},
	{"reduce_call", always, func(p *Protocol) any { return &p.ReduceCall }},
	{"fused", always, func(p *Protocol) any { return (*ratio)(&p.Fused) }},
}

// defaults are the constants that a file may leave out.
var defaults = map[string]func(*Protocol){
	"min_pass":       func(p *Protocol) { p.MinPass = p.Pass },
	"packets":        func(p *Protocol) { p.Packets = 0 },
	"copy_pass":      func(p *Protocol) { p.CopyPass = 0 },
	"net_start":      func(p *Protocol) { p.NetStart = 0 },
	"net_rate":       func(p *Protocol) { p.NetRate = 0 },
	"net_eager":      func(p *Protocol) { p.NetEager = 0 },
	"net_rendezvous": func(p *Protocol) { p.NetRendezvous = 0 },
}

// readProtocols reads the tables [protocol.LL], [protocol.LL128] and
// [protocol.Simple] below t. Without its table, there is no LL128. With `like`, they
// only contain what differs from the catalogue entry that it names.
func readProtocols(t *table) (all [3]Protocol) {
	protocols := t.table("protocol")
	if protocols == nil {
		return all
	}
	like := protocols.has("like")
	if like {
		var ok bool
		if all, ok = protocols.like(); !ok {
			return all
		}
		protocols.source()
	}
	for _, p := range AllProtocols {
		if (like || p == LL128) && !protocols.has(p.String()) {
			continue
		}
		if pt := protocols.table(p.String()); pt != nil {
			readProtocol(pt, p, &all[p], like && all[p].Slots > 0)
		}
	}
	protocols.done()
	return all
}

// maxLike limits the length of a chain of entries, each `like` the next.
const maxLike = 4

// like gives the protocols of the catalogue entry that the key names.
func (t *table) like() (all [3]Protocol, ok bool) {
	name := t.text("like", "")
	text, known := Source(name)
	switch {
	case name == "":
		return all, false
	case !known:
		t.fail("like", "unknown topology %s%s: want one of the catalogue's, %s", shown(name), suggest.DidYouMean(name, Names()), strings.Join(Names(), ", "))
		return all, false
	case t.r.alike == maxLike:
		t.fail("like", "more than %d entries, each like the next", maxLike)
		return all, false
	}
	other, err := parse(name+".toml", text)
	if err != nil {
		t.fail("like", "%v", err)
		return all, false
	}
	other.r.alike = t.r.alike + 1
	all = readProtocols(other)
	if len(other.r.errs) > 0 {
		t.fail("like", "%v", other.r.errs[0])
		return all, false
	}
	return all, true
}

// readProtocol reads a protocol's constants into c. If c has constants already,
// they stay where the table has none.
func readProtocol(t *table, p Proto, c *Protocol, has bool) {
	before := len(t.r.errs)
	for _, row := range constants {
		if !row.moves.of(p) {
			if t.has(row.key) {
				t.fail(row.key, "%v has no such constant: %s", p, whose(row.moves))
			}
			continue
		}
		if has && !t.has(row.key) {
			continue
		}
		if preset, ok := defaults[row.key]; ok && !t.has(row.key) {
			preset(c)
			continue
		}
		switch f := row.field(c).(type) {
		case *units.Duration:
			*f = t.duration(row.key)
		case *units.Bytes:
			*f = t.bytes(row.key)
		case *units.Bandwidth:
			*f = t.bandwidth(row.key)
		case *int:
			*f = t.whole(row.key, 1, 1<<20)
		case *ratio:
			*f = t.ratio(row.key)
		case *[]units.Bytes:
			*f = t.bytesList(row.key)
		}
	}
	t.source()
	t.done()
	if len(t.r.errs) == before {
		if err := c.check(p); err != nil {
			t.fail("", "%v", err)
		}
	}
}

func whose(m moves) string {
	if m == inSlices {
		return "Simple moves slices, LL and LL128 passes"
	}
	return "LL and LL128 move passes, Simple slices"
}

// check returns an error if a simulation can't run with these constants of
// protocol p.
func (c *Protocol) check(p Proto) error {
	for _, row := range constants {
		bad := false
		_, optional := defaults[row.key]
		switch f := row.field(c).(type) {
		case *units.Duration:
			bad = !sane(*f)
		case *units.Bytes:
			bad = *f < 0 || *f > maxTile || row.moves.of(p) && *f == 0 && !optional
		case *units.Bandwidth:
			bad = *f < 0 || *f > maxBandwidth || row.moves.of(p) && *f == 0 && !optional
		case *int:
			bad = *f < 1 || *f > 1<<20
		case *ratio:
			bad = !(*f > 0 || optional && *f == 0) || !(*f <= 1000)
		}
		if bad {
			return fmt.Errorf("%s is out of range", row.key)
		}
	}
	switch {
	case c.MinPass > c.Pass:
		return fmt.Errorf("min_pass is %v: want at most a pass, %v", c.MinPass, c.Pass)
	case c.Wire < 1:
		return fmt.Errorf("wire is %g: want 1 or more bytes on the wire for each of data", c.Wire)
	case c.Packets != 0 && c.Packets < 1:
		return fmt.Errorf("packets is %g: want 1 or more bytes on a link for each on the wire", c.Packets)
	case !slices.Contains(c.Tiles, c.Tile):
		return fmt.Errorf("tiles lack the tile itself, %v", c.Tile)
	case len(c.Tiles) > 64:
		return fmt.Errorf("%d tiles: want at most 64", len(c.Tiles))
	}
	for i, tile := range c.Tiles {
		if tile < 1 || tile > maxTile || i > 0 && tile <= c.Tiles[i-1] {
			return fmt.Errorf("tiles are %s: want them rising, from 1 to %v bytes", list(c.Tiles), maxTile)
		}
	}
	return nil
}

func list[T fmt.Stringer](all []T) string {
	return strings.Join(lists.Map(all, T.String), ", ")
}
