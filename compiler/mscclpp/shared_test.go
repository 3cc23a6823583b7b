package mscclpp

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/colltune/colltune/compiler/verify"
)

// optional returns plans made by others, found by walking up from here, if any.
func optional() []string {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if files, _ := filepath.Glob(filepath.Join(dir, "shared", "data", "mscclpp_plans", "*.json")); len(files) > 0 {
			return files
		}
	}
	return nil
}

// shared is optional for tests that are nothing without.
func shared(t testing.TB) []string {
	t.Helper()
	files := optional()
	if len(files) == 0 {
		t.Skip("no shared/data/mscclpp_plans above the working directory")
	}
	return files
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

func TestThirdPartyPlansVerify(t *testing.T) {
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
