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
	devices  int           // the most GPUs to use; 0: all
	watchdog time.Duration // how long a launch may take
	graph    bool          // time programs as CUDA graphs
	blocks   bool          // run small messages by threadblocks too
	compiler compiledBy
}

type compiledBy string

const (
	byEither compiledBy = "auto" // the driver, or NVRTC if that can't
	byDriver compiledBy = "ptx"  // of the embedded PTX
	byNVRTC  compiledBy = "nvrtc"
)

// defaults returns the default settings. A launch gives up after 20 seconds: the longest
// that work, of gigabytes, take a tenth of that.
func defaults() settings { return settings{watchdog: 20 * time.Second, compiler: byEither} }

// smallMessages returns how programs of small messages are run, for the fingerprint.
func (s settings) smallMessages() string {
	if s.blocks {
		return "by threadblocks"
	}
	return "a block a rank"
}

// registered are the settings for executor.RegisterSettings.
var registered = executor.KindSettings{Names: []string{"devices", "watchdog", "graph", "threadblocks", "compiler"}}

// devicesVariable is the environment variable that sets devices unless the settings do.
const devicesVariable = "COLLTUNE_EXECUTOR_CUDA_DEVICES"

// readSettings reads the settings with get. The error, which wraps ErrUnavailable, names
// every wrong key.
func readSettings(get func(string) string) (settings, error) {
	s := defaults()
	bad := func(key, want string) error { return fmt.Errorf("cuda: %s %q: want %s", key, get(key), want) }
	var wrong []error
	if text := get("devices"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			wrong = append(wrong, bad("devices", "a number of GPUs, 1 or more"))
		}
		s.devices = n
	} else if text := os.Getenv(devicesVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			wrong = append(wrong, fmt.Errorf("%s=%s: want a number of GPUs, 1 or more", devicesVariable, text))
		}
		s.devices = n
	}
	if text := get("watchdog"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < shortestLaunch || d > maxWatchdog {
			wrong = append(wrong, bad("watchdog", fmt.Sprintf("a time from %s to %s", shortestLaunch, maxWatchdog)))
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
				wrong = append(wrong, bad(yes.key, "true or false"))
			}
		}
	}
	if text := compiledBy(get("compiler")); text != "" {
		if text != byEither && text != byDriver && text != byNVRTC {
			wrong = append(wrong, bad("compiler", "auto, ptx or nvrtc"))
		}
		s.compiler = text
	}
	if len(wrong) > 0 {
		return s, executor.Unavailable(errors.Join(wrong...)) // another start would read the same settings
	}
	return s, nil
}

// maxWatchdog is the longest watchdog: a launch that has stood still for an hour will not
// go on.
const maxWatchdog = time.Hour
