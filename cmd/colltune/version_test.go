package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	const commit = "62cc72e0123456789012345678901234567890ab"
	for _, test := range []struct {
		name, module string
		settings     []debug.BuildSetting
		want         version
	}{
		{"go test", "", nil, version{Version: "devel"}},
		{"go run", "(devel)", nil, version{Version: "devel"}},
		{"a release", "v1.2.3", nil, version{Version: "v1.2.3"}},
		{"go install of a commit", "v0.0.0-20261123113621-62cc72e01234", nil, version{Version: "v0.0.0-20261123113621-62cc72e01234", Commit: "62cc72e01234"}},
		{"a checkout", "v1.2.4-0.20261123113621-62cc72e01234", []debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: "false"}},
			version{Version: "v1.2.4-0.20261123113621-62cc72e01234", Commit: commit}},
		{"a changed checkout", "v0.0.0-20261123113621-62cc72e01234+dirty", []debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: "true"}},
			version{Version: "v0.0.0-20261123113621-62cc72e01234+dirty", Commit: commit, Modified: true}},
		{"a changed checkout without its hash", "v0.0.0-20261123113621-62cc72e01234+dirty", nil,
			version{Version: "v0.0.0-20261123113621-62cc72e01234+dirty", Commit: "62cc72e01234", Modified: true}},
	} {
		v := version{Version: "devel"}
		v.built(&debug.BuildInfo{Main: debug.Module{Version: test.module}, Settings: test.settings})
		if v != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, v, test.want)
		}
	}
}

// TestMakefileStampsTheCommit has make say how it would build in a checkout whose
// GOFLAGS ask for no stamp, and outside of one.
func TestMakefileStampsTheCommit(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make here")
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), makefile, 0o644); err != nil {
		t.Fatal(err)
	}
	plan := func() string {
		cmd := exec.Command("make", "-n", "build")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GOFLAGS=-buildvcs=false")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("make -n build: %v\n%s", err, out)
		}
		return string(out)
	}
	if out := plan(); !strings.Contains(out, "-buildvcs=false") {
		t.Errorf("no checkout: %s", out)
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Skipf("git init: %v\n%s", err, out)
	}
	if out := plan(); !strings.Contains(out, "-buildvcs=true") {
		t.Errorf("a checkout: %s", out)
	}
}
