package replay

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/replay/recorded"
)

// settings are the user's [executor.NAME] of this kind.
type settings struct {
	file  string // or a folder
	call  recorded.Call
	noise recorded.Noise
}

// registered are the settings for executor.RegisterSettings.
var registered = executor.KindSettings{Names: []string{"file", "collective", "nodes", "ranks", "placement", "noise", "drift", "outliers", "seed"}}

// readSettings reads the settings with get. Every error names its key.
func readSettings(get func(string) string) (*settings, error) {
	s := &settings{file: get("file"), call: recorded.Call{Collective: get("collective"), Placement: get("placement")}, noise: recorded.Noise{Seed: 1}}
	if s.file == "" {
		return nil, fmt.Errorf("%s: file is not set: want a table of recorded times, as [executor.%s] file = \"times.csv\" in colltune.toml", Name, Name)
	}
	if p := s.call.Placement; p != "" && p != "in" && p != "out" {
		return nil, fmt.Errorf("%s: placement %q: want in or out", Name, p)
	}
	seed := int(s.noise.Seed)
	err := errors.Join(
		readWhole("nodes", get, &s.call.Nodes), readWhole("ranks", get, &s.call.Ranks), readWhole("seed", get, &seed),
		readPart("noise", get, &s.noise.Spread), readPart("drift", get, &s.noise.Drift), readPart("outliers", get, &s.noise.Outliers),
	)
	if s.noise.Seed = int64(seed); err != nil {
		return nil, err
	}
	if err := s.noise.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	return s, nil
}

// readWhole reads a whole number, if it is set.
func readWhole(key string, get func(string) string, into *int) error {
	text := get(key)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%s: %s %q: want a whole number from 0", Name, key, text)
	}
	*into = n
	return nil
}

// readPart reads a percentage, with or without its sign, if it is set.
func readPart(key string, get func(string) string, into *float64) error {
	text := get(key)
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil {
		return fmt.Errorf("%s: %s %q: want a percentage such as \"5%%\"", Name, key, text)
	}
	*into = v / 100
	return nil
}
