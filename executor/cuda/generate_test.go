package cuda

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/data"
)

// TestKernelsAreThere looks at the embedded PTX: a file a type, every entry, for
// the least device and an instruction set that old drivers know.
func TestKernelsAreThere(t *testing.T) {
	for i, name := range collective.DTypes() {
		text, err := ptxOf(data.DType(i))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{".version 6.0\n", ".target sm_70\n", ".address_size 64\n"} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s.ptx lacks %q", name, want)
			}
		}
		for _, k := range kernelNames {
			if !bytes.Contains(text, []byte(".visible .entry "+k+"(")) {
				t.Errorf("%s.ptx has no entry %s", name, k)
			}
		}
		// What the orders rest on. A line of LL128 is one store of a warp.
		for _, want := range []string{"ld.acquire.sys.global.u64", "ld.acquire.gpu.global.u64", "fence.acq_rel.sys", "fence.acq_rel.gpu", "st.volatile.global.v4.u32", "st.volatile.global.v2.u64", "ld.volatile.global.v2.u64", "globaltimer", "bar.red.or.pred", "vote.sync.any"} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s.ptx has no %s", name, want)
			}
		}
		if regexp.MustCompile(`\.extern|vprintf|__assertfail`).Match(text) {
			t.Errorf("%s.ptx needs something from outside", name)
		}
	}
}

// clang16 is the compiler that the embedded PTX was built with. Other releases give
// other text; make test-long installs this one.
func clang16(t *testing.T) string {
	t.Helper()
	clang, err := exec.LookPath("clang-16")
	if err != nil {
		t.Skip("no clang-16: the embedded PTX is not compared with what its source gives")
	}
	return clang
}

// TestKernelsAreWhatTheSourceGives builds the kernels again.
func TestKernelsAreWhatTheSourceGives(t *testing.T) {
	clang := clang16(t)
	types := collective.DTypes()
	if !long() {
		types = []string{"f16"} // a second each
	}
	script := readText(t, "ptx/build.sh")
	folder := t.TempDir()
	for _, name := range types {
		one := regexp.MustCompile(`for type in .*;`).ReplaceAllString(script, "for type in "+name+":"+strings.ToUpper(name)+";")
		cmd := exec.Command("sh", "-s", folder)
		cmd.Env = append(os.Environ(), "CLANG="+clang)
		cmd.Stdin = strings.NewReader(one)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		// Other releases of gzip write other bytes for the same text.
		if readPTX(t, filepath.Join(folder, name+".ptx.gz")) != readPTX(t, "ptx/"+name+".ptx.gz") {
			t.Errorf("ptx/%s.ptx.gz is not what the source gives: run go generate", name)
		}
	}
}

func readPTX(t *testing.T, path string) string {
	t.Helper()
	text, err := uncompressed([]byte(readText(t, path)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return string(text)
}

// TestRecordSizes holds the records to those of kernel/layout.h, which the C++
// compiler holds to the same numbers.
func TestRecordSizes(t *testing.T) {
	header := readText(t, "kernel/layout.h")
	for name, record := range map[string]any{
		"Chunk": chunkRecord{}, "Step": stepRecord{}, "Dependency": dependencyRecord{}, "Block": blockRecord{},
		"Exchange": exchangeRecord{}, "Part": partRecord{}, "Arm": armRecord{}, "Status": statusRecord{}, "Result": resultRecord{}, "Launch": launchRecord{}, "Generator": generatorRecord{},
		"Fill": fillRecord{}, "Spread": spreadRecord{}, "Term": termRecord{}, "Want": wantRecord{}, "Reference": referenceRecord{}, "Hold": holdRecord{}, "Hop": hopRecord{},
	} {
		m := regexp.MustCompile(`sizeof\(` + name + `\) == (\d+),`).FindStringSubmatch(header)
		if m == nil {
			t.Errorf("layout.h says nothing of the size of %s", name)
			continue
		}
		if n := binary.Size(record); m[1] != strconv.Itoa(n) {
			t.Errorf("%s has %d bytes here, %s there", name, n, m[1])
		}
	}
}
