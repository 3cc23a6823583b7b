package wire

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/topologies"
)

// A new field of a description or a trial needs a line in both functions of its pair.

// EncodeDescription returns a description's message.
func EncodeDescription(d executor.Description) *protocol.Description {
	out := &protocol.Description{
		Name:            d.Name,
		Version:         d.Version,
		Deterministic:   d.Deterministic,
		MaxRanks:        int32(d.MaxRanks),
		Protocols:       d.Protocols,
		Dtypes:          d.DTypes,
		Operations:      d.Operations,
		Fingerprint:     d.Fingerprint,
		Devices:         d.Devices,
		MaxThreadblocks: int32(d.MaxThreadblocks),
		MaxBytes:        d.MaxBytes,
		NativeOnly:      d.NativeOnly,
		OtherLinks:      d.OtherLinks,
		Simulated:       d.Simulated,
	}
	for _, a := range d.Native {
		settings := map[string]*protocol.SettingValues{}
		for name, values := range a.Settings {
			settings[name] = &protocol.SettingValues{Values: values}
		}
		of := &protocol.NativeAlgorithm{Algorithm: a.Algorithm, Collectives: a.Collectives, Protocols: a.Protocols, Settings: settings}
		for _, p := range a.Priors {
			of.Priors = append(of.Priors, &protocol.Prior{Protocol: p.Protocol, Bytes: p.Bytes, Us: p.US})
		}
		out.Native = append(out.Native, of)
	}
	return out
}

// DecodeDescription returns the description of a message.
func DecodeDescription(d *protocol.Description) executor.Description {
	in := executor.Description{
		Name:            d.Name,
		Version:         d.Version,
		Deterministic:   d.Deterministic,
		MaxRanks:        int(d.MaxRanks),
		Protocols:       d.Protocols,
		DTypes:          d.Dtypes,
		Operations:      d.Operations,
		Fingerprint:     d.Fingerprint,
		Devices:         d.Devices,
		MaxThreadblocks: int(d.MaxThreadblocks),
		MaxBytes:        d.MaxBytes,
		NativeOnly:      d.NativeOnly,
		OtherLinks:      d.OtherLinks,
		Simulated:       d.Simulated,
	}
	for _, a := range d.Native {
		n := executor.NativeAlgorithm{Algorithm: a.Algorithm, Collectives: a.Collectives, Protocols: a.Protocols}
		for name, values := range a.Settings {
			if n.Settings == nil {
				n.Settings = map[string][]string{}
			}
			n.Settings[name] = values.GetValues()
		}
		for _, p := range a.Priors {
			n.Priors = append(n.Priors, executor.Prior{Protocol: p.GetProtocol(), Bytes: p.GetBytes(), US: p.GetUs()})
		}
		in.Native = append(in.Native, n)
	}
	return in
}

// EncodeTrial returns the request for a trial. program and topology are the hashes
// under which its documents were sent.
func EncodeTrial(t executor.Trial, program, topology string) *protocol.RunRequest {
	r := &protocol.RunRequest{
		Topology:  topology,
		Bytes:     t.Bytes,
		Protocol:  t.Protocol.String(),
		TileBytes: t.TileBytes,
		Dtype:     t.DType,
		Op:        t.Op,
		Iters:     int32(t.Iters),
		Warmup:    int32(t.Warmup),
		Seed:      t.Seed,
		Repeat:    int32(t.Repeat),
		Before:    int64(t.Before),
	}
	if t.Native == nil {
		r.Program = program
		return r
	}
	c := &t.Collective
	r.Native = &protocol.Native{Algorithm: t.Native.Algorithm, Settings: t.Native.Settings}
	r.Collective = &protocol.Collective{Name: c.Name, Ranks: int32(c.Ranks), Root: int32(c.Root), InPlace: c.InPlace}
	for _, n := range c.Counts {
		r.Collective.Counts = append(r.Collective.Counts, int64(n))
	}
	return r
}

// DecodeTrial returns the trial of a request, without its documents. The error is about
// a request that no host sends.
func DecodeTrial(r *protocol.RunRequest) (executor.Trial, error) {
	p, err := topologies.ParseProto(r.Protocol)
	if err != nil {
		return executor.Trial{}, err
	}
	t := executor.Trial{
		Bytes:     r.Bytes,
		Protocol:  p,
		TileBytes: r.TileBytes,
		DType:     r.Dtype,
		Op:        r.Op,
		Iters:     int(r.Iters),
		Warmup:    int(r.Warmup),
		Seed:      r.Seed,
		Repeat:    int(r.Repeat),
		Before:    int(r.Before),
	}
	switch {
	case r.Native == nil:
		return t, nil
	case r.Program != "":
		return executor.Trial{}, fmt.Errorf("a program and the algorithm %q: want one of them", r.Native.Algorithm)
	case r.Collective == nil:
		return executor.Trial{}, fmt.Errorf("algorithm %q without the collective to compute", r.Native.Algorithm)
	}
	t.Native = &executor.Native{Algorithm: r.Native.Algorithm, Settings: r.Native.Settings}
	c := r.Collective
	t.Collective = collective.Spec{Name: c.Name, Ranks: int(c.Ranks), Chunks: 1, Root: int(c.Root), InPlace: c.InPlace}
	for _, n := range c.Counts {
		t.Collective.Counts = append(t.Collective.Counts, int(n))
	}
	return t, nil
}
