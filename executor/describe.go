package executor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Description is what a back end says of itself.
type Description struct {
	Name          string   `json:"name"`
	Version       string   `json:"version"`
	Deterministic bool     `json:"deterministic"` // the same trial gives the same times
	Devices       []string `json:"devices,omitempty"`
	MaxRanks      int      `json:"max_ranks"` // 0: no limit
	// MaxThreadblocks limits a rank's, MaxBytes a trial's size. 0: no limit, or
	// one that depends on the trial.
	MaxThreadblocks int               `json:"max_threadblocks,omitempty"`
	MaxBytes        int64             `json:"max_bytes,omitempty"`
	Protocols       []string          `json:"protocols"`
	DTypes          []string          `json:"dtypes"`
	Operations      []string          `json:"operations"`  // reduction operators
	Fingerprint     map[string]string `json:"fingerprint"` // what a measurement depends on: version, device, driver, calibration

	// Native are the back end's own algorithms. NativeOnly: it runs nothing else.
	Native     []NativeAlgorithm `json:"native,omitempty"`
	NativeOnly bool              `json:"native_only,omitempty"`

	// OtherLinks tells that its ranks are not joined by the topology's links;
	// ranks in one memory, for example. No bound computed from the topology then
	// holds for its times. The same is known of ranks that share a device, without
	// being told.
	OtherLinks bool `json:"other_links,omitempty"`

	// Simulated reports that its times are a model's. It moves no data, so there is
	// none to check.
	Simulated bool `json:"simulated,omitempty"`

	// SlotCache is how many bytes a device caches near its processors, as a GPU
	// does in its second cache: messages whose slots fit there need not cross its
	// memory. 0: unknown.
	SlotCache int64 `json:"slot_cache,omitempty"`
}

// Joins tells whether the ranks of the back end, if there are so many, are joined
// by the links of the topology.
func (d *Description) Joins(ranks int) bool {
	return !d.OtherLinks && (len(d.Devices) == 0 || len(d.Devices) >= ranks)
}

// Takes says whether the description allows trials of so many bytes. The error
// wraps ErrUnsupported.
func (d *Description) Takes(bytes int64) error {
	if err := d.tooLarge(bytes); err != nil {
		return fmt.Errorf("executor %s: %w: %w", d.Name, err, ErrUnsupported)
	}
	return nil
}

func (d *Description) tooLarge(bytes int64) error {
	if d.MaxBytes > 0 && bytes > d.MaxBytes {
		return fmt.Errorf("%d bytes: it takes at most %d", bytes, d.MaxBytes)
	}
	return nil
}

// refuses says why the description rules a trial out; nil where it does not.
// Limits that only the back end knows are its own to report.
func (d *Description) refuses(t *Trial) error {
	switch {
	case len(d.DTypes) > 0 && t.DType != "" && !slices.Contains(d.DTypes, t.DType):
		return fmt.Errorf("dtype %s: it has %s", t.DType, strings.Join(d.DTypes, ", "))
	case len(d.Operations) > 0 && t.Op != "" && t.reduces() && !slices.Contains(d.Operations, t.Op):
		return fmt.Errorf("operation %s: it has %s", t.Op, strings.Join(d.Operations, ", "))
	case d.tooLarge(t.Bytes) != nil:
		return d.tooLarge(t.Bytes)
	case t.Native != nil:
		if d.MaxRanks > 0 && t.Collective.Ranks > d.MaxRanks {
			return fmt.Errorf("%d ranks: it has at most %d", t.Collective.Ranks, d.MaxRanks)
		}
		return d.offers(t)
	case d.NativeOnly:
		return errors.New("it runs no programs, only algorithms of its own")
	case d.MaxRanks > 0 && t.Program.Ranks() > d.MaxRanks:
		return fmt.Errorf("%d ranks: it has at most %d", t.Program.Ranks(), d.MaxRanks)
	case len(d.Protocols) > 0 && !slices.Contains(d.Protocols, t.Protocol.String()):
		return fmt.Errorf("protocol %s: it has %s", t.Protocol, strings.Join(d.Protocols, ", "))
	}
	if d.MaxThreadblocks > 0 {
		for rank, gpu := range t.Program.GPUs {
			if n := len(gpu.Threadblocks); n > d.MaxThreadblocks {
				return fmt.Errorf("%d threadblocks on rank %d: it has at most %d", n, rank, d.MaxThreadblocks)
			}
		}
	}
	return nil
}
