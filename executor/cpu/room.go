package cpu

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/units"
)

// memoryVariable sets how many bytes a trial may take, in place of what the
// machine says.
const memoryVariable = "COLLTUNE_EXECUTOR_MEMORY"

// unknownMemory is what a trial may take on a machine that doesn't say what is
// free.
const unknownMemory = 8 << 30

// memoryLimit is what a trial may take: four fifths of what is free, divided by
// the processes that share the machine.
func memoryLimit(processes int) (int64, error) {
	if text := os.Getenv(memoryVariable); text != "" {
		n, err := units.ParseBytes(text)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", memoryVariable, err)
		}
		return int64(n), nil
	}
	free := int64(unknownMemory)
	if n, ok := availableMemory("/proc/meminfo"); ok {
		free = n
	}
	if limit, ok := oneNumber("/sys/fs/cgroup/memory.max"); ok {
		used, _ := oneNumber("/sys/fs/cgroup/memory.current")
		free = min(free, max(limit-used, 0))
	}
	return free / 5 * 4 / int64(max(processes, 1)), nil
}

// fits refuses what needs more memory than there is.
func fits(need, limit int64, what string) error {
	if need <= limit {
		return nil
	}
	return refuse("%s takes %v of memory in this process, and %v are free for it (%s sets another limit)",
		what, units.Bytes(need), units.Bytes(limit), memoryVariable)
}

// refuse says why this executor can't run a trial.
func refuse(format string, args ...any) error {
	return executor.Unsupported(fmt.Errorf(format, args...))
}

// availableMemory reads how much Linux says is available to new programs.
func availableMemory(path string) (int64, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "MemAvailable:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}

func oneNumber(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}
