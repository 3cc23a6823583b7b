package nvrtc

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// Compiling is tested by package cuda, with its kernels: against a library that
// answers the calls, and NVIDIA's own where it is there.

func TestMissingLibrary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "libnvrtc.so")
	t.Setenv(LibraryVariable, file)
	if _, err := Open(); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

func TestAnotherLibrary(t *testing.T) {
	t.Setenv(LibraryVariable, "libc.so.6")
	if _, err := Open(); !errors.Is(err, ErrMissing) {
		t.Errorf("got %v", err)
	}
}

func TestEverySymbolHasAName(t *testing.T) {
	for i, name := range symbols {
		if !strings.HasPrefix(name, "nvrtc") {
			t.Errorf("entry %d has no name", i)
		}
	}
}

func TestErrorsBringTheLog(t *testing.T) {
	if got, want := (&CompileError{"NVRTC_ERROR_COMPILATION", "move.h(1): error"}).Error(), "nvrtcCompileProgram: NVRTC_ERROR_COMPILATION\nmove.h(1): error"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&CompileError{Text: "NVRTC_ERROR_COMPILATION"}).Error(); strings.Contains(got, "\n") {
		t.Errorf("got %q", got)
	}
}
