package replay

import (
	"maps"
	"strings"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/replay/recorded"
	"github.com/colltune/colltune/topologies"
)

// protocolSetting is the setting for a protocol where the same algorithm and settings were
// also recorded with a protocol that the library chose.
const protocolSetting = "protocol"

// natives returns the configurations of a space as native algorithms, with a single value
// for each setting: a description lists values as a product, and only some of it was
// recorded. Configurations that differ in nothing but the protocol are one.
func natives(s *recorded.Space) (all []executor.NativeAlgorithm) {
	byName := map[string]int{}
	for i := range s.Configs {
		c := s.Configs[i]
		settings, protocols := c.Settings, []string(nil)
		if c.Protocol != "" && chosenToo(s, &c) {
			settings = maps.Clone(settings)
			settings[protocolSetting] = c.Protocol
		} else if c.Protocol != "" {
			protocols = []string{c.Protocol}
		}
		name := executor.Native{Algorithm: c.Algorithm, Settings: settings}.String()
		if at, ok := byName[name]; ok {
			all[at].Protocols = append(all[at].Protocols, protocols...)
			all[at].Priors = append(all[at].Priors, priors(s, i, protocols)...)
			continue
		}
		byName[name] = len(all)
		a := executor.NativeAlgorithm{Algorithm: c.Algorithm, Protocols: protocols, Settings: map[string][]string{}, Priors: priors(s, i, protocols)}
		if s.Call.Collective != "" {
			a.Collectives = []string{s.Call.Collective}
		}
		for k, v := range settings {
			a.Settings[k] = []string{v}
		}
		all = append(all, a)
	}
	return all
}

// priors are a configuration's prior times, under its protocol if it is one that a trial may
// choose.
func priors(s *recorded.Space, config int, protocols []string) (all []executor.Prior) {
	for size, bytes := range s.Sizes {
		if us := s.At(config, size).PriorUS; us > 0 {
			all = append(all, executor.Prior{Protocol: strings.Join(protocols, ""), Bytes: bytes, US: us})
		}
	}
	return all
}

// chosenToo reports whether a configuration was also recorded without its protocol.
func chosenToo(s *recorded.Space, c *recorded.Config) bool {
	_, err := s.Find(c.Algorithm, "", c.Settings)
	return err == nil
}

// configOf returns the index of the configuration that natives made an algorithm of.
func configOf(s *recorded.Space, n *executor.Native, proto topologies.Proto) (int, error) {
	if p := n.Settings[protocolSetting]; p != "" {
		settings := maps.Clone(n.Settings)
		delete(settings, protocolSetting)
		return s.Find(n.Algorithm, p, settings)
	}
	if i, err := s.Find(n.Algorithm, "", n.Settings); err == nil {
		return i, nil
	}
	return s.Find(n.Algorithm, proto.String(), n.Settings)
}
