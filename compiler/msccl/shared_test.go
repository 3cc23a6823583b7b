package msccl

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/colltune/colltune/compiler/verify"
)

// shared returns files made by others, found by walking up from here.
func shared(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if files, _ := filepath.Glob(filepath.Join(dir, "shared", "data", "msccl_xml", "*.xml")); len(files) > 0 {
			return files
		}
	}
	t.Skip("no shared/data/msccl_xml above the working directory")
	return nil
}

func load(t testing.TB, path string) *File {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return f
}

func TestThirdPartyFilesVerify(t *testing.T) {
	for _, path := range shared(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			v := Verify(load(t, path), verify.Options{})
			if !v.OK() {
				t.Errorf("found: %v", v.Report.Err())
			}
			for _, f := range v.Findings {
				t.Log(f)
			}
			for _, rt := range Runtimes() {
				t.Log(rt, v.Runtimes[rt])
			}
		})
	}
}

func TestThirdPartyFilesRoundTrip(t *testing.T) {
	for _, path := range shared(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f := load(t, path)
			var b bytes.Buffer
			if _, err := f.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			again, err := Read(&b)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(f, again) {
				t.Error("reads back as something else")
			}
			p, _, err := f.Program(f.Placements()[0])
			if err != nil {
				t.Fatal(err)
			}
			written := reread(t, p, WriteOptions{Runtime: "msccl", Protocol: "LL", MaxBytes: 1 << 30})
			if !reflect.DeepEqual(p, written) {
				t.Error("the program is another after writing and reading it")
			}
		})
	}
}
