package nccl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/units"
)

// settings are the user's [executor.NAME] of this kind.
type settings struct {
	tests    string // folder of nccl-tests' programs; empty: the library is loaded here
	library  string // its path; empty: the linker finds it
	launcher []string
	gpus     int // of a process
	cycles   int // repetitions of a size in a launch
	sweep    *sweep
	trusted  bool   // algorithms count as run if the library's log does not say
	runtime  string // how the library reads MSCCL programs; empty: it does not
	folder   string // for the programs' files; every host can read it
	tries    map[string][]string
	// symmetric kernels are tried, and the library's own choice has buffers that are
	// registered as windows, too.
	symmetric bool
}

// sweep is a range of sizes measured in one launch.
type sweep struct {
	least, most int64 // bytes
	factor      int64
}

// settingNames are the settings of this kind.
var settingNames = []string{"library", "tests", "gpus", "cycles", "sweep", "trust", "runtime", "programs", "channels", "buffer", "threads", "symmetric", "kernel", "ctas"}

// ofTests are those that need nccl-tests.
var ofTests = []string{"gpus", "cycles", "sweep", "runtime", "programs", "symmetric", "kernel", "ctas"}

// readSettings reads the settings with get. Every error names its key.
func readSettings(get func(string) string, launcher []string) (*settings, error) {
	s := &settings{tests: get("tests"), library: get("library"), launcher: launcher, gpus: 1, cycles: 3, runtime: get("runtime"), folder: get("programs")}
	if s.tests != "" && s.library != "" {
		return nil, errors.New("nccl: both tests and library are set: want one, because nccl-tests' programs have the library they were linked with")
	}
	if s.tests == "" {
		for _, key := range ofTests {
			if get(key) != "" {
				return nil, fmt.Errorf("nccl: %s needs nccl-tests, and tests is not set", key)
			}
		}
	}
	if err := errors.Join(readCount("gpus", get, &s.gpus, 1024), readCount("cycles", get, &s.cycles, 1000)); err != nil {
		return nil, err
	}
	if s.tests != "" && len(launcher) == 0 && get("gpus") == "" {
		return nil, errors.New("nccl: gpus is not set: without a launcher, want how many GPUs one process is to use")
	}
	if err := errors.Join(readBool("trust", get, &s.trusted), readBool("symmetric", get, &s.symmetric)); err != nil {
		return nil, err
	}
	for _, k := range knobs {
		if k.of == symmetric && get(k.name) != "" && !s.symmetric {
			return nil, fmt.Errorf("nccl: %s is a setting of symmetric kernels: want symmetric = true, too", k.name)
		}
	}
	if s.runtime != "" {
		if _, err := msccl.Lookup(s.runtime); err != nil {
			return nil, fmt.Errorf("nccl: runtime: %w", err)
		}
	}
	if s.folder == "" {
		s.folder = os.TempDir()
	}
	var err error
	if s.tries, err = readTries(get); err != nil {
		return nil, err
	}
	s.sweep, err = readSweep(get("sweep"))
	return s, err
}

// readCount reads a number from 1 to most, if it is set.
func readCount(key string, get func(string) string, into *int, most int) error {
	text := get(key)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return fmt.Errorf("nccl: %s %q: want a number from 1 to %d", key, text, most)
	}
	*into = n
	return nil
}

// readBool reads true or false, if it is set.
func readBool(key string, get func(string) string, into *bool) (err error) {
	text := get(key)
	if text == "" {
		return nil
	}
	if *into, err = strconv.ParseBool(text); err != nil {
		return fmt.Errorf("nccl: %s %q: want true or false", key, text)
	}
	return nil
}

// readTries reads the values to try for each knob.
func readTries(get func(string) string) (map[string][]string, error) {
	tries := map[string][]string{}
	for _, k := range knobs {
		text := get(k.name)
		if text == "" {
			continue
		}
		for _, v := range strings.Split(text, ",") {
			v = strings.TrimSpace(v)
			if err := k.check(v); err != nil {
				return nil, fmt.Errorf("nccl: %w", err)
			}
			if !slices.Contains(tries[k.name], v) {
				tries[k.name] = append(tries[k.name], v)
			}
		}
	}
	return tries, nil
}

// readSweep reads LEAST:MOST:FACTOR.
func readSweep(text string) (*sweep, error) {
	if text == "" {
		return nil, nil
	}
	bad := fmt.Errorf("nccl: sweep %q: want LEAST:MOST or LEAST:MOST:FACTOR, such as 1K:1G:2", text)
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append(parts, "2")
	}
	if len(parts) != 3 {
		return nil, bad
	}
	least, errLeast := units.ParseBytes(parts[0])
	most, errMost := units.ParseBytes(parts[1])
	factor, errFactor := strconv.ParseInt(parts[2], 10, 32)
	if errors.Join(errLeast, errMost, errFactor) != nil || least < 1 || most < least || factor < 2 {
		return nil, bad
	}
	return &sweep{int64(least), int64(most), factor}, nil
}

func (s *sweep) has(bytes int64) bool {
	for n := s.least; n <= s.most; n *= s.factor {
		if n == bytes {
			return true
		}
		if n > s.most/s.factor {
			break
		}
	}
	return false
}

func (s *settings) program(name string) string { return filepath.Join(s.tests, name) }

// registered are the settings for executor.RegisterSettings.
var registered = executor.KindSettings{Names: settingNames, Launches: "tests"}
