package tuningtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/colltune/colltune/results/tuning"
)

// mscclppStore is a tuned configuration: of a profile, the entries of each collective by
// rising size.
type mscclppStore []mscclppProfile

type mscclppProfile struct {
	sku         string // "": any
	scale       int    // 0: any
	collectives map[string][]mscclppEntry
}

type mscclppEntry struct {
	Size       int64  `json:"message_size"`
	Algorithm  string `json:"algorithm"`
	Blocks     int    `json:"nblocks"`
	Threads    int    `json:"nthreads"`
	Registered bool   `json:"symmetric_memory"`
}

func readMSCCLPP(name string, text []byte) (Reader, error) {
	var d struct {
		Profiles *[]struct {
			SKU         *string
			Scale       *int
			Collectives map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, jsonError(name, text, err)
	}
	if d.Profiles == nil {
		return nil, lineError(name, 1, "has no list profiles")
	}
	var store mscclppStore
	for i, p := range *d.Profiles {
		profile := mscclppProfile{collectives: map[string][]mscclppEntry{}}
		if p.SKU != nil {
			profile.sku = system("mscclpp-tuning", *p.SKU)
		}
		if p.Scale != nil {
			if profile.scale = *p.Scale; profile.scale <= 0 {
				return nil, lineError(name, 1, "profiles[%d]: scale %d: want a positive number", i, profile.scale)
			}
		}
		for collective, raw := range p.Collectives {
			all, err := mscclppEntries(raw)
			if err != nil {
				return nil, lineError(name, 1, "profiles[%d], %.40q: %v", i, collective, err)
			}
			profile.collectives[collective] = all
		}
		// Of equal profiles the last counts, in the first one's place.
		if at := slices.IndexFunc(store, func(o mscclppProfile) bool { return o.sku == profile.sku && o.scale == profile.scale }); at >= 0 {
			store[at] = profile
		} else if store = append(store, profile); len(store) > maxEntries {
			return nil, lineError(name, 1, "more than %d profiles", maxEntries)
		}
	}
	return store, nil
}

// mscclppEntries reads the entries of a collective: a list, or a list named configs.
func mscclppEntries(raw json.RawMessage) (all []mscclppEntry, err error) {
	var within struct{ Configs json.RawMessage }
	if json.Unmarshal(raw, &within) == nil {
		if raw = within.Configs; raw == nil {
			return nil, nil
		}
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.Size <= 0 || e.Algorithm == "" {
			return nil, fmt.Errorf("want entries with an algorithm and a positive message_size")
		}
	}
	slices.SortStableFunc(all, func(a, b mscclppEntry) int { return cmp.Compare(a.Size, b.Size) })
	for i := range all[:max(len(all)-1, 0)] {
		if all[i].Size == all[i+1].Size && all[i] != all[i+1] {
			return nil, fmt.Errorf("two entries of message_size %d, which MSCCL++ cannot put into order", all[i].Size)
		}
	}
	return all, nil
}

// Choose asks the profiles that match, those of both GPU and ranks first.
func (s mscclppStore) Choose(call tuning.Scope, bytes int64) (tuning.Config, bool) {
	for specific := 2; specific >= 0; specific-- {
		for _, p := range s {
			n := 0
			if p.sku != "" {
				n++
			}
			if p.scale != 0 {
				n++
			}
			if n != specific || p.sku != "" && p.sku != system("mscclpp-tuning", call.System) || p.scale != 0 && p.scale != call.Ranks {
				continue
			}
			all := p.collectives[call.Collective]
			if len(all) == 0 {
				continue
			}
			size := bytes
			if call.Collective == "allgather" { // of a rank's input
				size /= int64(max(call.Ranks, 1))
			}
			// The first entry that is not below the size: it, or the one before.
			i, found := slices.BinarySearchFunc(all, size, func(e mscclppEntry, size int64) int { return cmp.Compare(e.Size, size) })
			if !found && i > 0 {
				i--
			}
			e := all[i]
			return tuning.Config{Library: "mscclpp", Kernel: e.Algorithm, Channels: e.Blocks, Threads: e.Threads, Registered: e.Registered}, true
		}
	}
	return tuning.Config{}, false
}
