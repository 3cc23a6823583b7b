package nccl

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/nccl/debuglog"
	"github.com/colltune/colltune/internal/lists"
)

// debugEnvironment makes the library log the variables it reads and the algorithms it
// runs.
var debugEnvironment = []string{"NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING"}

// unconfirmedNote is the note of a measurement that no log confirms.
const unconfirmedNote = "taken for what ran on trust: the library's log does not say"

// confirmation decides by the library's log whether it did what it was told.
type confirmation struct {
	tells   bool // its log names what it runs
	trusted bool // it counts as obeying if the log doesn't say
}

// native returns an error if the log contradicts that the trial's algorithm ran.
func (c confirmation) native(t *executor.Trial, log *debuglog.Log, variables []string) error {
	for _, v := range variables {
		if v == "NCCL_SYM_KERNEL" {
			continue // it is read without a word
		}
		if _, read := log.Environment[v]; !read && (c.tells || !c.trusted) {
			return fmt.Errorf("the library does not say that it has read %s", v)
		}
	}
	if t.Native.Algorithm == symmetric {
		return c.symmetric(t, log)
	}
	seen := false
	for _, ran := range log.Choices {
		if ran.Collective != "" && ran.Collective != t.Collective.Name {
			continue
		}
		seen = true
		if ran.Algorithm != t.Native.Algorithm || ran.Protocol != strings.ToLower(t.Protocol.String()) {
			return fmt.Errorf("the library ran %s %s", ran.Algorithm, ran.Protocol)
		}
		if n, err := strconv.Atoi(t.Native.Settings["channels"]); err == nil && ran.Channels > n {
			return fmt.Errorf("the library used %d channels", ran.Channels)
		}
	}
	if !seen && !c.trusted {
		return errors.New("the library's log does not say what it ran")
	}
	if n, err := strconv.Atoi(t.Native.Settings["channels"]); err == nil && log.Channels > 0 && log.Channels != n {
		return fmt.Errorf("the library has %d channels", log.Channels)
	}
	return nil
}

// symmetric returns an error unless the log says that the trial's symmetric kernel ran.
func (c confirmation) symmetric(t *executor.Trial, log *debuglog.Log) error {
	for _, ran := range log.Choices {
		if ran.Collective == "" || ran.Collective == t.Collective.Name {
			return fmt.Errorf("the library ran %s %s, and no symmetric kernel", ran.Algorithm, ran.Protocol)
		}
	}
	if len(log.Kernels) == 0 && !c.trusted {
		return errors.New("the library's log names no symmetric kernel")
	}
	for _, ran := range log.Kernels {
		if want := t.Native.Settings["kernel"]; want != "" && want != defaultValue && ran.Name != want {
			return fmt.Errorf("the library ran %s", ran.Name)
		}
		if n, err := strconv.Atoi(t.Native.Settings["ctas"]); err == nil && ran.CTAs > n {
			return fmt.Errorf("the library used %d CTAs", ran.CTAs)
		}
	}
	return nil
}

// lacksAlgorithm reports whether the library's output says that it has no such algorithm
// with that protocol.
func lacksAlgorithm(output string) bool {
	return strings.Contains(strings.ToLower(output), "no algorithm/protocol available")
}

// libraryEnvironment returns the user's own variables for the library, as an entry of the
// fingerprint.
func libraryEnvironment() map[string]string {
	var tuned []string
	for _, e := range os.Environ() {
		for _, prefix := range []string{"NCCL_", "RCCL_", "MSCCL_"} {
			if strings.HasPrefix(e, prefix) && !strings.HasPrefix(e, "NCCL_DEBUG") {
				tuned = append(tuned, e)
			}
		}
	}
	slices.Sort(tuned)
	return map[string]string{"environment": strings.Join(tuned, " ")}
}

// countNames lists distinct names with their counts: "8 × H100".
func countNames(all []string) string {
	count := map[string]int{}
	for _, name := range all {
		count[name]++
	}
	texts := lists.Map(slices.Sorted(maps.Keys(count)), func(name string) string { return fmt.Sprintf("%d × %s", count[name], name) })
	return strings.Join(texts, ", ")
}
