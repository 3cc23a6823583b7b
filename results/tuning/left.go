package tuning

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// Left returns what a library runs of a call that is left to it, the best first: what follows
// it runs where what is before isn't for the call. The error says why that isn't known.
type Left func(call Scope, bytes int64) ([]Config, error)

// lastChange is the size beyond which a library's choice is taken to stay.
const lastChange = 1 << 40

// WithLeft returns rules, and behind them, for all collectives of which a tuner is asked and
// all sizes, what the library runs by itself over the nodes and ranks of the rules, and over
// parts of these where that is known: for a file whose reader runs calls without a row on one
// channel. The first rule that matches counts. The error says which calls rows can't be for.
func WithLeft(rules []Rule, left Left) ([]Rule, error) {
	if left == nil {
		return nil, errors.New("what NCCL runs by itself is not known")
	}
	all := slices.Clone(rules)
	var shapes []Scope
	for _, r := range rules {
		shape := Scope{Ranks: r.Ranks, Nodes: r.Nodes}
		if r.Nodes == 0 {
			return nil, fmt.Errorf("%s: the number of nodes is not stated, so that the row would be for any: state it, as in --library NAME=FILE,nodes=1", r.Scope)
		}
		if slices.Contains(shapes, shape) {
			continue
		}
		shapes = append(shapes, shape)
	}
	for _, whole := range slices.Clone(shapes) {
		for _, part := range parts(whole) {
			part.Collective = TunerCollectives[0]
			if _, err := left(part, 1); err != nil { // of nodes that can't be taken apart
				continue
			}
			if part.Collective = ""; !slices.Contains(shapes, part) {
				shapes = append(shapes, part)
			}
		}
	}
	for rank := 0; ; rank++ { // of what the library would run
		n := len(all)
		for _, shape := range shapes {
			for _, shape.Collective = range TunerCollectives {
				pieces, err := leftPieces(shape, left, rank)
				if err != nil {
					return nil, err
				}
				all = append(all, pieces...)
			}
		}
		if len(all) == n {
			return all, nil
		}
	}
}

// parts lists the parts of a shape that jobs make communicators of: a power of two of its nodes
// or all, and of the GPUs of each.
func parts(whole Scope) (all []Scope) {
	for _, nodes := range powersTo(whole.Nodes) {
		for _, gpus := range powersTo(whole.Ranks / whole.Nodes) {
			if nodes*gpus > 1 {
				all = append(all, Scope{Nodes: nodes, Ranks: nodes * gpus})
			}
		}
	}
	return all
}

// powersTo lists the powers of two below n, and n.
func powersTo(n int) (all []int) {
	for k := 1; k < n; k *= 2 {
		all = append(all, k)
	}
	return append(all, n)
}

// LeftTold says, of the rules that WithLeft returned, what those behind are, and what they are
// not for.
func LeftTold(rules []Rule) []string {
	var shapes []string
	for _, r := range rules {
		if text := fmt.Sprintf("%d on %s", r.Ranks, units.Count(r.Nodes, "node")); !slices.Contains(shapes, text) {
			shapes = append(shapes, text)
		}
	}
	return []string{
		fmt.Sprintf("what is left to NCCL, other sizes and collectives, has rows of what NCCL would choose by itself, by a model of it; %d channels are as many as it has", allChannels),
		fmt.Sprintf("communicators of other ranks than %s have no rows: under NCCL's example as it is they run on one channel, so build it with *nChannels = 0 at the beginning of its getCollInfo, as RCCL's copy has", strings.Join(shapes, ", ")),
	}
}

// allChannels is NCCL's MAXCHANNELS.
const allChannels = 64

// leftPieces are the sizes at which a library's choice of a rank is one configuration.
func leftPieces(call Scope, left Left, rank int) (pieces []Rule, err error) {
	at := func(bytes int64) (c Config) {
		configs, e := left(call, bytes)
		if e != nil {
			err = e
		} else if rank < len(configs) {
			c = tunerSame(configs[rank])
			if c.Kernel == "" || c.Protocol == "" || c.Channels < 1 {
				err = fmt.Errorf("%s of %d bytes: the library runs %s %s, which no row can say", call, bytes, configs[rank].Kernel, configs[rank].Protocol)
			}
		}
		return c
	}
	add := func(first int64, c Config) {
		if n := len(pieces); n > 0 && pieces[n-1].Config == c {
			return
		}
		if n := len(pieces); n > 0 {
			pieces[n-1].Last = first - 1
		}
		pieces = append(pieces, Rule{Scope: call, First: first, Last: math.MaxInt64, Config: c})
	}
	// between adds the changes above low, to high. Of one configuration at both ends, and in the
	// middle, nothing changes between them.
	var between func(low, high int64, a, b Config)
	between = func(low, high int64, a, b Config) {
		if err != nil || high-low <= 1 {
			add(high, b)
			return
		}
		middle := low + (high-low)/2
		c := at(middle)
		if a == c && c == b {
			return
		}
		between(low, middle, a, c)
		between(middle, high, c, b)
	}
	low := int64(1)
	a := at(low)
	add(0, a)
	for low < lastChange && err == nil {
		for i := int64(1); i <= 4; i++ { // parts of an octave
			high := low + low*i/4
			from := low + low*(i-1)/4
			if high > from {
				b := at(high)
				between(from, high, a, b)
				a = b
			}
		}
		low *= 2
	}
	return slices.DeleteFunc(pieces, func(r Rule) bool { return r.Config == Config{} }), err
}
