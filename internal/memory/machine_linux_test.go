package memory

import (
	"slices"
	"testing"
)

func TestLimitFiles(t *testing.T) {
	for groups, want := range map[string][]string{
		"":        nil,
		"0::/\n":  {"/sys/fs/cgroup/memory.max"},
		"0::/a/b": {"/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory.max"},
		"12:cpuset:/x\n5:memory:/job\n1:name=systemd:/y\n": {
			"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		"garbage": nil,
	} {
		if got := limitFiles(groups); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", groups, got, want)
		}
	}
}
