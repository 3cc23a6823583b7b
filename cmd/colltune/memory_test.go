package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/memory"
	"github.com/colltune/colltune/internal/units"
)

// fill is a command that takes memory until it is told to end. It is there only in a
// process that TestCommandOutOfMemory starts.
func fill() *cobra.Command {
	return &cobra.Command{Use: "fill", RunE: func(cmd *cobra.Command, _ []string) error {
		var all [][]byte
		for cmd.Context().Err() == nil || os.Getenv(fillWith) == "deaf" {
			b := make([]byte, 4<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			all = append(all, b)
			time.Sleep(10 * time.Millisecond)
		}
		runtime.KeepAlive(all)
		return cmd.Context().Err()
	}}
}

const fillWith = "COLLTUNE_TEST_FILL"

func init() {
	if os.Getenv(fillWith) != "" {
		commands = append(commands, fill)
	}
}

// A command that exceeds its memory limit ends with a message and exit code 4, whether
// or not it handles the interrupt.
func TestCommandOutOfMemory(t *testing.T) {
	for _, how := range []string{"listening", "deaf"} {
		cmd := exec.Command("/proc/self/exe", "fill", "--memory", "256M")
		if runtime.GOOS != "linux" {
			cmd.Path, _ = os.Executable()
		}
		cmd.Env = append(os.Environ(), fillWith+"="+how, asCommand+"=1")
		out, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != exitLimit || !strings.Contains(string(out), "the limit is 256M (--memory sets another)") {
			t.Errorf("%s: %v: %s", how, err, out)
		}
	}
}

// Out of memory has the exit code of a limit, not of an interrupt.
func TestOutOfMemoryIsALimit(t *testing.T) {
	over := &memory.Exceeded{Used: 3 << 30, Limit: 2 << 30}
	if err := fmt.Errorf("search: %w", over); exitCode(err) != exitLimit || !leavesResults(err) {
		t.Errorf("exit code %d", exitCode(err))
	}
}

func TestPageGivesLeastMemory(t *testing.T) {
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("The least is %v:", units.Bytes(minMemory)); !strings.Contains(string(page), want) {
		t.Errorf("docs/commands.md does not say %q", want)
	}
}
