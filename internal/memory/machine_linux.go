package memory

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine returns the memory of this machine in bytes, or the lowest limit of the
// control groups of this process if that is less; 0: unknown.
func Machine() int64 {
	least := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		least = int64(info.Totalram) * int64(info.Unit)
	}
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for _, file := range limitFiles(string(groups)) {
		if text, err := os.ReadFile(file); err == nil {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// limitFiles lists the files that may hold limits of our control groups and of those
// around them, in either version. groups is the text of /proc/self/cgroup.
func limitFiles(groups string) (files []string) {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		root, name := "/sys/fs/cgroup", "memory.max"
		switch {
		case parts[1] == "memory":
			root, name = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case parts[1] != "":
			continue
		}
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			files = append(files, filepath.Join(root, at, name))
			if at == "/" {
				break
			}
		}
	}
	return files
}
