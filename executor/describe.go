package executor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// Description is an executor's description of itself.
type Description struct {
	Name          string   `json:"name"`
	Version       string   `json:"version"`
	Deterministic bool     `json:"deterministic"` // the same trial gives the same times
	Devices       []string `json:"devices,omitempty"`
	MaxRanks      int      `json:"max_ranks"` // 0: no limit
	// MaxThreadblocks is the limit of a rank, MaxBytes that of Trial.Bytes. 0: none, or
	// one that depends on the trial.
	MaxThreadblocks int               `json:"max_threadblocks,omitempty"`
	MaxBytes        int64             `json:"max_bytes,omitempty"`
	Protocols       []string          `json:"protocols"`
	DTypes          []string          `json:"dtypes"`
	Operations      []string          `json:"operations"`  // reduction operators
	Fingerprint     map[string]string `json:"fingerprint"` // what a measurement depends on: version, device, driver, calibration

	// Native are its native algorithms: those of the vendor's library. NativeOnly reports
	// that it runs no programs.
	Native     []NativeAlgorithm `json:"native,omitempty"`
	NativeOnly bool              `json:"native_only,omitempty"`

	// OtherLinks reports that its ranks do not use the topology's links: ranks in one
	// memory, for example. No bound computed from the topology then holds for its times.
	// Ranks that share a device imply it.
	OtherLinks bool `json:"other_links,omitempty"`

	// Simulated reports that its times are a model's. It moves no data, so there is
	// none to check.
	Simulated bool `json:"simulated,omitempty"`
}

// Limits of a description: items in a list other than the devices, and bytes in a text.
const (
	maxDescribed     = 1000
	maxDescribedText = 64 << 10
	maxPriors        = 1 << 14 // of an algorithm: sizes times protocols
)

// Validate returns an error if a number of the description is negative, or a text or a
// list too long: its texts are kept in every campaign.
func (d *Description) Validate() error {
	for name, n := range map[string]int64{"max_ranks": int64(d.MaxRanks), "max_threadblocks": int64(d.MaxThreadblocks), "max_bytes": d.MaxBytes} {
		if n < 0 {
			return fmt.Errorf("description: %s of %d: want at least 0", name, n)
		}
	}
	type list struct {
		of    string
		texts []string
	}
	keys := slices.Sorted(maps.Keys(d.Fingerprint))
	lists := []list{{"names", []string{d.Name}}, {"versions", []string{d.Version}}, {"protocols", d.Protocols}, {"dtypes", d.DTypes}, {"operations", d.Operations}, {"fingerprint keys", keys}}
	for _, key := range keys {
		lists = append(lists, list{fmt.Sprintf("fingerprint %.80s", key), []string{d.Fingerprint[key]}})
	}
	for devices := range slices.Chunk(d.Devices, maxDescribed) { // there may be many
		lists = append(lists, list{"devices", devices})
	}
	if n := len(d.Native); n > maxDescribed {
		return fmt.Errorf("description: %d algorithms: want at most %d", n, maxDescribed)
	}
	for _, a := range d.Native {
		settings := slices.Sorted(maps.Keys(a.Settings))
		if n := len(a.Priors); n > maxPriors {
			return fmt.Errorf("description: %d prior times of %.80s: want at most %d", n, a.Algorithm, maxPriors)
		}
		for _, p := range a.Priors {
			if err := units.CheckTimeUS(p.US); err != nil {
				return fmt.Errorf("description: prior of %.80s at %d bytes: %w", a.Algorithm, p.Bytes, err)
			}
		}
		lists = append(lists, list{"names of algorithms", []string{a.Algorithm}}, list{"collectives", a.Collectives}, list{"protocols", a.Protocols}, list{"settings", settings})
		for _, name := range settings {
			lists = append(lists, list{fmt.Sprintf("values of %.80s", name), a.Settings[name]})
		}
	}
	for _, l := range lists {
		if n := len(l.texts); n > maxDescribed {
			return fmt.Errorf("description: %d %s: want at most %d", n, l.of, maxDescribed)
		}
		for _, text := range l.texts {
			if n := len(text); n > maxDescribedText {
				return fmt.Errorf("description: %s of %d bytes: want at most %d", l.of, n, maxDescribedText)
			}
		}
	}
	return nil
}

// Joins reports whether n ranks of the executor use the links of the topology.
func (d *Description) Joins(n int) bool {
	return !d.OtherLinks && (len(d.Devices) == 0 || len(d.Devices) >= n)
}

// Takes returns an error that wraps ErrUnsupported if trials of the given bytes are above
// MaxBytes.
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

// Refuses returns an error that says why the description rules a trial out, or nil. An
// executor reports limits that only it knows itself.
func (d *Description) Refuses(t *Trial) error {
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
