package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/internal/dynlib"
)

// The calls themselves are tested by package cuda, against a library that
// answers them.

func TestMissingLibrary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "libcuda.so.1")
	t.Setenv(LibraryVariable, file)
	if _, err := Open(); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	// A file that is no library is told with the linker's words.
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(); !errors.Is(err, ErrMissing) || strings.Contains(err.Error(), "No such file") {
		t.Errorf("got %v", err)
	}
}

func TestAnotherLibrary(t *testing.T) {
	t.Setenv(LibraryVariable, "libc.so.6")
	if _, err := Load(); err == nil || !strings.Contains(err.Error(), "has no function cuInit") && !errors.Is(err, ErrMissing) {
		t.Errorf("got %v", err)
	}
}

// A library may have dropped names that newer headers no longer use, and no other
// that is needed; graphs are no need.
func TestNamesOfTheLibrary(t *testing.T) {
	without := func(absent ...string) error {
		_, err := bind(t.Name(), "libcuda.so.1", func(name string) (dynlib.Symbol, error) {
			if slices.Contains(absent, name) {
				return 0, &dynlib.SymbolError{Library: "libcuda.so.1", Symbol: name}
			}
			return 1, nil
		})
		return err
	}
	for i, tc := range []struct {
		absent []string
		says   string
	}{
		{nil, ""},
		{[]string{"cuEventElapsedTime", "cuDevicePrimaryCtxRelease"}, ""},
		{[]string{"cuEventElapsedTime", "cuEventElapsedTime_v2"}, "has no function cuEventElapsedTime:"},
		{[]string{"cuGraphLaunch"}, ""},
		{[]string{"cuMemAlloc_v2"}, "has no function cuMemAlloc_v2:"},
	} {
		if err := without(tc.absent...); (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%d: %v, want %q", i, err, tc.says)
		}
	}
}

func TestErrors(t *testing.T) {
	err := fmt.Errorf("on device 1: %w", &Error{Call: "cuMemAlloc_v2", Code: OutOfMemory, Name: "CUDA_ERROR_OUT_OF_MEMORY", Text: "out of memory"})
	if !errors.Is(err, OutOfMemory) || errors.Is(err, NoDevice) || Fatal(err) {
		t.Errorf("%v is not told apart", err)
	}
	if want := "on device 1: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	for code, fatal := range map[Code]bool{1: false, 719: true, 220: true, 226: true, 999: true, 221: false, 701: false, 700: true, CooperativeTooLarge: false, NotReady: false} {
		if Fatal(&Error{Code: code}) != fatal {
			t.Errorf("%d: fatal is %v", code, !fatal)
		}
	}
	for code, absent := range map[Code]bool{1: false, 2: false, 802: false, 999: false, 34: true, NoDevice: true, 803: true, 804: true} {
		if Unavailable(fmt.Errorf("device 0: %w", &Error{Code: code})) != absent {
			t.Errorf("%d: absent is %v", code, !absent)
		}
	}
	if !Unavailable(ErrMissing) || Unavailable(nil) || Unavailable(errors.New("other")) {
		t.Error("what is absent is not told from other errors")
	}
	if Fatal(nil) || Fatal(errors.New("other")) {
		t.Error("an error of nothing of CUDA's is taken for one")
	}
}

func TestEverySymbolHasAName(t *testing.T) {
	for i, name := range symbols {
		if !strings.HasPrefix(name, "cu") && entry(i) != required {
			t.Errorf("entry %d has no name", i)
		}
	}
}
