package cuda

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/colltune/colltune/executor"
)

// settings are the user's [executor.cuda].
type settings struct {
	devices  int           // GPUs to use at most; 0: all
	watchdog time.Duration // how long a launch may take
	graph    bool          // programs are timed as CUDA graphs
	blocks   bool          // small messages, too, go by threadblocks
	compiler compiledBy
}

// compiledBy says what makes machine code of the kernels.
type compiledBy string

const (
	byEither compiledBy = "auto" // the driver, or NVRTC if that can't
	byDriver compiledBy = "ptx"  // of the embedded PTX
	byNVRTC  compiledBy = "nvrtc"
)

// defaults are the settings where nothing is set. After 20 seconds a launch gives
// up: the longest that work are of gigabytes, and take a tenth of that.
func defaults() settings { return settings{watchdog: 20 * time.Second, compiler: byEither} }

// smallMessages says how programs of small messages are run, for the fingerprint.
func (s settings) smallMessages() string {
	if s.blocks {
		return "by threadblocks"
	}
	return "a block a rank"
}

// registered is what the host knows of the settings.
var registered = executor.KindSettings{Names: []string{"devices", "watchdog", "graph", "threadblocks", "compiler"}}

// devicesVariable sets devices where the settings don't.
const devicesVariable = "COLLTUNE_EXECUTOR_CUDA_DEVICES"

// readSettings reads the settings with get. Every error names its key.
func readSettings(get func(string) string) (settings, error) {
	s := defaults()
	bad := func(key, want string) error { return fmt.Errorf("cuda: %s %q: want %s", key, get(key), want) }
	var mistakes []error
	if text := get("devices"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			mistakes = append(mistakes, bad("devices", "a number of GPUs, 1 or more"))
		}
		s.devices = n
	} else if text := os.Getenv(devicesVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			mistakes = append(mistakes, fmt.Errorf("%s=%s: want a number of GPUs, 1 or more", devicesVariable, text))
		}
		s.devices = n
	}
	if text := get("watchdog"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < shortestLaunch || d > mostWatchdog {
			mistakes = append(mistakes, bad("watchdog", fmt.Sprintf("a time from %s to %s", shortestLaunch, mostWatchdog)))
		}
		s.watchdog = d
	}
	for _, yes := range []struct {
		key string
		is  *bool
	}{{"graph", &s.graph}, {"threadblocks", &s.blocks}} {
		if text := get(yes.key); text != "" {
			var err error
			if *yes.is, err = strconv.ParseBool(text); err != nil {
				mistakes = append(mistakes, bad(yes.key, "true or false"))
			}
		}
	}
	if text := compiledBy(get("compiler")); text != "" {
		if text != byEither && text != byDriver && text != byNVRTC {
			mistakes = append(mistakes, bad("compiler", "auto, ptx or nvrtc"))
		}
		s.compiler = text
	}
	if len(mistakes) > 0 {
		return s, executor.Unavailable(errors.Join(mistakes...)) // another process would read the same mistakes
	}
	return s, nil
}

// mostWatchdog is the longest watchdog: what has stood still for an hour will not
// go on.
const mostWatchdog = time.Hour
