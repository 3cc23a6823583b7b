package executor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Description is a back end's traits.
type Description struct {
	Name          string   `json:"name"`
	Version       string   `json:"version"`
	Deterministic bool     `json:"deterministic"` // the same trial gives the same times
	Devices       []string `json:"devices,omitempty"`
	MaxRanks      int      `json:"max_ranks"` // 0: no limit
	// MaxThreadblocks is of a rank, MaxBytes of a trial's size. 0: no limit, or
	// one that depends on the trial.
	MaxThreadblocks int               `json:"max_threadblocks,omitempty"`
	MaxBytes        int64             `json:"max_bytes,omitempty"`
	Protocols       []string          `json:"protocols"`
	DTypes          []string          `json:"dtypes"`
	Operations      []string          `json:"operations"`  // reduction operators
	Fingerprint     map[string]string `json:"fingerprint"` // what a measurement depends on: version, device, driver, calibration

	// Native are the algorithms it has of its own; NativeOnly, that it runs no
	// programs besides.
	Native     []NativeAlgorithm `json:"native,omitempty"`
	NativeOnly bool              `json:"native_only,omitempty"`

	// OtherLinks tells that its ranks are not joined by the topology's links, as
	// ranks in one memory are not: then no bound of the topology's holds for its
	// times. Ranks that share a device are not either, and need not be told of.
	OtherLinks bool `json:"other_links,omitempty"`

	// SlotCache is how many bytes a device holds near its processors, as a GPU's
	// second cache does: messages whose slots fit need not cross its memory. 0:
	// unknown.
	SlotCache int64 `json:"slot_cache,omitempty"`
}

// Joins tells whether the links of a topology with so many ranks lie between
// the ranks of the back end.
func (d *Description) Joins(ranks int) bool {
	return !d.OtherLinks && (len(d.Devices) == 0 || len(d.Devices) >= ranks)
}

// Takes says whether a back end runs trials of up to so many bytes, as far as its
// description tells; ErrUnsupported where it doesn't.
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

// refuses says why a back end can't run a trial by its description; nil where
// it may. What only the back end knows, it answers itself.
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
