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

// memoryVariable is the environment variable that overrides memoryLimit, in bytes.
const memoryVariable = "COLLTUNE_EXECUTOR_MEMORY"

// unknownMemory is taken for free, in bytes, where the machine doesn't tell.
const unknownMemory = 8 << 30

// memoryLimit returns the bytes that a trial may take: four fifths of the free memory. The
// error is about memoryVariable.
func memoryLimit() (int64, error) {
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
	return free / 5 * 4, nil
}

// fits returns an error if what needs more memory than the limit.
func fits(need, limit int64, what string) error {
	if need <= limit {
		return nil
	}
	return refuse("%s takes %v of memory in this process, and %v are free for it (%s sets another limit)",
		what, units.Bytes(need), units.Bytes(limit), memoryVariable)
}

// refuse returns an error that wraps executor.ErrUnsupported.
func refuse(format string, args ...any) error {
	return executor.Unsupported(fmt.Errorf(format, args...))
}

// availableMemory returns the memory that Linux reports as available, in bytes.
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
