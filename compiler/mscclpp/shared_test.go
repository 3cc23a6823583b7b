package mscclpp

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/colltune/colltune/compiler/verify"
)

// shared are plans made by others, found by walking up from here.
func shared(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if files, _ := filepath.Glob(filepath.Join(dir, "shared", "data", "mscclpp_plans", "*.json")); len(files) > 0 {
			return files
		}
	}
	t.Skip("no shared/data/mscclpp_plans above the working directory")
	return nil
}

func load(t testing.TB, path string) *Plan {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := Read(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return p
}

func TestPlansOfOthersAreRight(t *testing.T) {
	for _, path := range shared(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			v := Verify(load(t, path), verify.Options{})
			if !v.OK() {
				t.Errorf("found: %v", v.Report.Err())
			}
			for _, f := range v.Report.Findings {
				t.Log(f)
			}
			t.Log(v.Accepts, v.Why)
		})
	}
}
