package library

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// Setting is what variables make the library run at some sizes, where that is not what it runs by itself: an algorithm
// and a protocol, over a number of channels, or a kernel for windows, with a number of threadblocks.
//
//	ring channels=32                                    NCCL_MIN_NCHANNELS=32 NCCL_MAX_NCHANNELS=32, NCCL_ALGO, NCCL_PROTO
//	symmetric kernel=AllGather_ST ctas=8                NCCL_SYM_KERNEL, NCCL_SYM_CTAS
//	copy engine cta_policy=ZERO                         NCCL_CTA_POLICY
//
// Its times are the model's, as those of what the library runs by itself.
type Setting struct {
	Algorithm string // NCCL's name of it; Symmetric or nccl.CopyEngine, of calls on windows
	// Parameters are channels (a number), kernel, ctas and cta_policy; registered, where that is not as called.
	Parameters map[string]any
	Channels   int // 0: as many as the library takes by itself
	Times      []*Time
}

// Symmetric is the algorithm of NCCL's kernels for windows.
const Symmetric = "symmetric"

// At returns the setting's time at a size with a protocol; nil where it makes no difference, or nothing says what that is.
func (s *Setting) At(bytes int64, p topologies.Proto) *Time {
	for _, t := range s.Times {
		if t.Bytes == bytes && t.Protocol == p {
			return t
		}
	}
	return nil
}

// sameTime is the part of a time within which threadblocks decide.
const sameTime = 1.02

// Settings returns the settings of calls in some states of the buffers, over some numbers of channels, and the programs that are to be built for their times,
// of drafts where these have them. There are none at sizes of which times ship, and none of programs so large
// that a steady state stands for them, or could.
func (l *Library) Settings(ctx context.Context, sizes []int64, states []nccl.Registered, channels []int, drafts []*program.Draft) (all []*Setting, more []*program.Draft, err error) {
	over, err := l.target.Over(len(l.target.Topology.Ranks), l.target.InPlace)
	if err != nil {
		return nil, nil, err
	}
	forced, err := l.forced()
	if err != nil {
		return nil, nil, err
	}
	c := choosing{Library: l, said: map[string]bool{}, without: map[string][]int64{}}
	byName := map[string]*Setting{}
	for _, state := range states {
		forced.Registered = state
		for _, bytes := range sizes {
			own, err := l.system.Choices(over, bytes, forced)
			if _, ships := l.shipped(bytes, state); ships || err != nil {
				continue
			}
			for _, x := range fronted(nccl.SettingsOf(l.system, over, bytes, forced, channels), &own[0]) {
				t, err := c.settingTime(ctx, x.Choices, bytes, state)
				if err != nil {
					return nil, nil, err
				}
				if t == nil {
					continue
				}
				one := l.setting(&x, t, state)
				name := program.CandidateName(one.Algorithm, one.Parameters, 0)
				if byName[name] == nil {
					byName[name] = one
					all = append(all, one)
				}
				byName[name].Times = append(byName[name].Times, t)
			}
		}
	}
	return all, c.among(all, drafts), nil
}

// fronted are the settings that are not what the library runs by itself. Of those whose time needs no program, these are
// left: faster than all that have as many threadblocks or fewer.
func fronted(all []nccl.Setting, own *nccl.Choice) (left []nccl.Setting) {
	all = slices.DeleteFunc(all, func(x nccl.Setting) bool { return runs(&x.Choices[0]) == runs(own) })
	slices.SortStableFunc(all, func(a, b nccl.Setting) int {
		x, y := &a.Choices[0], &b.Choices[0]
		return cmp.Or(cmp.Compare(x.Blocks, y.Blocks), cmp.Compare(x.ClockUS, y.ClockUS))
	})
	least := math.Inf(1)
	for _, s := range all {
		x := &s.Choices[0]
		if x.ClockUS > 0 {
			if own.ClockUS > 0 && own.Blocks <= x.Blocks {
				least = min(least, own.ClockUS)
			}
			if sameTime*x.ClockUS >= least {
				continue
			}
			least = x.ClockUS
		}
		left = append(left, s)
	}
	return left
}

// runs is what a choice runs, whatever made the library take it.
func runs(c *nccl.Choice) string {
	return fmt.Sprint(c.Kernel, c.CTAs, c.Algorithm, c.Family, c.Parameters, c.Protocol, c.Channels, c.TileBytes)
}

// settingTime is the time of the first of a setting's choices that has one; nil: none has.
func (c *choosing) settingTime(ctx context.Context, choices []nccl.Choice, bytes int64, state nccl.Registered) (*Time, error) {
	for i := range choices {
		s := c.sourceOf(&choices[i])
		if s == nil || s.From == Unclocked || s.From == SteadyState || s.From == Program && c.large(&choices[i]) {
			return nil, nil
		}
		t, why, err := s.time(c, ctx, c.untimed(s, &choices[i], bytes, "", state, state))
		if why == "" || err != nil {
			return &t, err
		}
	}
	return nil, nil
}

// large reports whether a choice's program over as many channels as are tried is more than is built and simulated for settings.
func (l *Library) large(c *nccl.Choice) bool {
	g, known := growths[c.Family]
	return known && g.operations(len(l.target.Topology.Ranks), 1, slices.Max(nccl.ChannelCounts)) > maxSteady
}

// setting is a setting by its name, without times.
func (l *Library) setting(x *nccl.Setting, t *Time, state nccl.Registered) *Setting {
	s := &Setting{Algorithm: t.choice.Algorithm, Parameters: map[string]any{}, Channels: x.Channels}
	switch {
	case t.choice.Kernel == nccl.CopyEngine:
		s.Algorithm, s.Parameters["cta_policy"] = nccl.CopyEngine, "ZERO"
	case t.choice.Kernel != "":
		s.Algorithm, s.Parameters["kernel"], s.Parameters["ctas"] = Symmetric, t.choice.Kernel, t.choice.CTAs
	case x.Channels > 0:
		s.Parameters["channels"] = x.Channels
	}
	if state != l.options.Registered {
		s.Parameters["registered"] = state.String()
	}
	return s
}

// among has settings' times take their programs from drafts that are built anyway, and returns the others'.
func (c *choosing) among(all []*Setting, drafts []*program.Draft) (more []*program.Draft) {
	known := map[string]*program.Draft{}
	for _, d := range drafts {
		if name := d.String(); known[name] == nil && d.Source == "template" {
			known[name] = d
		}
	}
	for _, s := range all {
		for _, t := range s.Times {
			if t.Draft == nil {
				continue
			}
			if d := known[t.Draft.String()]; d != nil {
				t.Draft = d
			} else {
				known[t.Draft.String()], more = t.Draft, append(more, t.Draft)
			}
		}
	}
	return more
}

// Take gives the setting's times the programs that were built of their drafts; made returns nil for one that was not, whose
// times are then dropped.
func (s *Setting) Take(made func(*program.Draft) *program.Built) {
	s.Times = slices.DeleteFunc(s.Times, func(t *Time) bool {
		if t.Draft != nil {
			if t.built = made(t.Draft); t.built != nil && (t.built.Refusal != nil || t.built.Prepared == nil) {
				t.built = nil
			}
		}
		return t.Draft != nil && t.built == nil
	})
}

// Bound is a time in microseconds that the time is not below.
func (t *Time) Bound(elem int64) float64 {
	if t.built == nil {
		return t.US
	}
	return t.Of(t.built.Prepared.LowerBound(t.Knobs(elem)))
}

// Simulate returns the time in microseconds, simulated where it is a program's.
func (t *Time) Simulate(ctx context.Context, elem int64) (float64, error) {
	if t.built == nil {
		return t.US, nil
	}
	r, err := t.built.Prepared.RunContext(ctx, t.Knobs(elem))
	return t.Of(r.TimeUS), err
}
