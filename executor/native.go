package executor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Native is an algorithm of the vendor's library, such as NCCL's ring or tree, with values
// for its settings.
type Native struct {
	Algorithm string            `json:"algorithm"`          // as the executor names it; "auto": its own choice
	Settings  map[string]string `json:"settings,omitempty"` // of those its Description offers; others keep their default
}

// String returns the algorithm with its settings in order: "ring channels=8".
func (n Native) String() string {
	var b strings.Builder
	b.WriteString(n.Algorithm)
	for _, k := range slices.Sorted(maps.Keys(n.Settings)) {
		fmt.Fprintf(&b, " %s=%s", k, n.Settings[k])
	}
	return b.String()
}

// NativeAlgorithm is an algorithm of the vendor's library, as an executor offers it.
type NativeAlgorithm struct {
	Algorithm   string   `json:"algorithm"`
	Collectives []string `json:"collectives,omitempty"` // none: any
	Protocols   []string `json:"protocols,omitempty"`   // none: it chooses, and a trial's is ignored
	// Settings lists the values worth trying for each setting, the default first.
	Settings map[string][]string `json:"settings,omitempty"`
	// Priors are what a model says of its times before any trial, for a strategy: of an
	// algorithm with one collective and one value for each setting.
	Priors []Prior `json:"priors,omitempty"`
}

// Prior is a model's time.
type Prior struct {
	Protocol string  `json:"protocol,omitempty"` // "": it chooses
	Bytes    int64   `json:"bytes"`
	US       float64 `json:"us"` // µs, above 0
}

// offers returns why an executor has no such algorithm of its own as a trial asks for. Of
// several entries of one name, one that has it is enough.
func (d *Description) offers(t *Trial) error {
	var names []string
	var why error // of the first entry of that name
	for i := range d.Native {
		a := &d.Native[i]
		if a.Algorithm != t.Native.Algorithm {
			names = append(names, a.Algorithm)
			continue
		}
		err := a.offers(t)
		if err == nil {
			return nil
		}
		if why == nil {
			why = err
		}
	}
	switch {
	case why != nil:
		return why
	case len(names) == 0:
		return fmt.Errorf("it has no algorithms of its own, and so no %q", t.Native.Algorithm)
	}
	return fmt.Errorf("no algorithm %q: want one of %s", t.Native.Algorithm, strings.Join(slices.Compact(names), ", "))
}

func (a *NativeAlgorithm) offers(t *Trial) error {
	if len(a.Collectives) > 0 && !slices.Contains(a.Collectives, t.Collective.Name) {
		return fmt.Errorf("algorithm %s does no %s: want one of %s", a.Algorithm, t.Collective.Name, strings.Join(a.Collectives, ", "))
	}
	if len(a.Protocols) > 0 && !slices.Contains(a.Protocols, t.Protocol.String()) {
		return fmt.Errorf("algorithm %s has no protocol %s: want one of %s", a.Algorithm, t.Protocol, strings.Join(a.Protocols, ", "))
	}
	for _, k := range slices.Sorted(maps.Keys(t.Native.Settings)) {
		if _, known := a.Settings[k]; !known {
			return fmt.Errorf("algorithm %s has no setting %q: want one of %s", a.Algorithm, k, strings.Join(slices.Sorted(maps.Keys(a.Settings)), ", "))
		}
	}
	return nil
}

// NativeKey identifies the trial's algorithm on its collective, as a hash does a program.
func (t *Trial) NativeKey() string {
	b, _ := json.Marshal(struct {
		Native     *Native `json:"native"`
		Collective any     `json:"collective"`
	}{t.Native, t.Collective}) // numbers and strings only: can't fail
	return string(b)
}
