package dynlib_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// libc is a library that every system of the kind has.
func libc(t *testing.T) *dynlib.Library {
	t.Helper()
	names := map[string]string{"linux": "libc.so.6", "darwin": "/usr/lib/libSystem.B.dylib"}
	name, ok := names[runtime.GOOS]
	if !ok {
		t.Skipf("no name of the C library is known for %s", runtime.GOOS)
	}
	lib, err := dynlib.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

func TestCallsAndStrings(t *testing.T) {
	lib := libc(t)
	strlen, err := lib.Symbol("strlen")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"", "a", "rank 3", strings.Repeat("x", 5000)} {
		if n := dynlib.Call(strlen, uintptr(unsafe.Pointer(dynlib.CString(s)))); int(n) != len(s) {
			t.Errorf("strlen of %d bytes is %d", len(s), n)
		}
	}
	strerror, err := lib.Symbol("strerror")
	if err != nil {
		t.Fatal(err)
	}
	whole := dynlib.GoString(dynlib.Call(strerror, 2), 1000)
	if !strings.Contains(whole, "file") {
		t.Errorf("strerror(ENOENT) reads %q", whole)
	}
	if cut := dynlib.GoString(dynlib.Call(strerror, 2), 4); cut != whole[:4] {
		t.Errorf("cut to 4 bytes: %q", cut)
	}
	if s := dynlib.GoString(0, 10); s != "" {
		t.Errorf("the null pointer reads %q", s)
	}
}

func TestMissing(t *testing.T) {
	notALibrary := filepath.Join(t.TempDir(), "libz3.so")
	if err := os.WriteFile(notALibrary, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := dynlib.Open("libcolltune-none.so.9", notALibrary)
	var missing *dynlib.NotFoundError
	if !errors.As(err, &missing) || !errors.Is(err, dynlib.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if len(missing.Reasons) != 2 || !strings.Contains(err.Error(), "libcolltune-none.so.9 or "+notALibrary) {
		t.Errorf("the error does not say what was tried: %v", err)
	}
	_, err = libc(t).Symbol("colltune_none")
	var symbol *dynlib.SymbolError
	if !errors.As(err, &symbol) || symbol.Symbol != "colltune_none" {
		t.Errorf("got %v", err)
	}
}

func TestOpenTakesTheFirstThatLoads(t *testing.T) {
	first := libc(t)
	lib, err := dynlib.Open("libcolltune-none.so", first.Name)
	if err != nil {
		t.Fatal(err)
	}
	if lib.Name != first.Name {
		t.Errorf("opened %s", lib.Name)
	}
}

// A name that no file has says so once; a file that can't be loaded says why.
func TestHindrances(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the words are those of Linux' linker")
	}
	_, err := dynlib.Open("libcolltune-none.so.9", "libcolltune-none.so")
	if want := "shared library libcolltune-none.so.9 or libcolltune-none.so not found"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	notALibrary := filepath.Join(t.TempDir(), "libz3.so")
	if err := os.WriteFile(notALibrary, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = dynlib.Open("libcolltune-none.so", notALibrary)
	if err == nil || !strings.Contains(err.Error(), "not found: "+notALibrary+": ") || strings.Contains(err.Error(), "No such file") {
		t.Errorf("%v", err)
	}
}

// TestReasonsAreTheirOwn opens many names at once: each has the linker's words
// for itself, however the goroutines change threads.
func TestReasonsAreTheirOwn(t *testing.T) {
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			for i := range 100 {
				name := fmt.Sprintf("libcolltune-none-%d-%d.so", g, i)
				_, err := dynlib.Open(name)
				var none *dynlib.NotFoundError
				if !errors.As(err, &none) || len(none.Reasons) != 1 || !strings.HasPrefix(none.Reasons[0], name+": ") {
					if runtime.GOOS == "linux" {
						t.Errorf("%s: %#v", name, err)
					}
					return
				}
				runtime.Gosched()
			}
		})
	}
	all.Wait()
}
