package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, n := range []int{0, 1, 511, 512, 513, 100_000} {
		want := bytes.Repeat([]byte("x"), n)
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path, int64(n)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes are read as %d: %v", n, len(got), err)
		}
	}
	if _, err := Read(path, 99_999); err == nil || err.Error() != "100000 bytes: want at most 99999" {
		t.Errorf("a file that is too long: %v", err)
	}
	if _, err := Read(dir, 10); err == nil || err.Error() != "is a folder: want a file" {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "nowhere"), 10); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "nowhere") {
		t.Errorf("no file: %v", err)
	}
	if _, err := Read(os.DevNull, 10); err == nil || err.Error() != "is a device: want a regular file" {
		t.Errorf("a device: %v", err)
	}
}

// blanks are read in vain, one after another, as long as anybody asks.
type blanks struct{ read int64 }

func (b *blanks) Read(to []byte) (int, error) {
	for i := range to {
		to[i] = " \n\t\r"[i%4]
	}
	b.read += int64(len(to))
	return len(to), nil
}

func TestBlanksWithoutEnd(t *testing.T) {
	for _, first := range []string{"", "{", "x y z"} {
		var rest blanks
		_, err := ReadAll(io.MultiReader(strings.NewReader(first), &rest), 1<<40, 0)
		if err == nil || !strings.Contains(err.Error(), "nothing but blanks from byte") || rest.read > 2*maxBlanks {
			t.Errorf("after %q: %v, after %d bytes", first, err, rest.read)
		}
	}
}

// What is no text is refused with the line where that is seen.
func TestByteZero(t *testing.T) {
	for _, lines := range []int{0, 1, 20_000} {
		text := strings.Repeat("line\n", lines) + "a\x00b\n"
		_, err := ReadAll(strings.NewReader(text), 1<<20, 0)
		if want := fmt.Sprintf("is no text: a byte 0 on line %d", lines+1); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestReadAllInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200_000).Draw(t, "bytes")
		most := rapid.IntRange(0, 200_000).Draw(t, "most")
		size := rapid.IntRange(0, 200_000).Draw(t, "size expected")
		want := make([]byte, n)
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for i := range want {
			want[i] = " \nab"[r.IntN(4)]
		}
		var from io.Reader = bytes.NewReader(want)
		if rapid.Bool().Draw(t, "halves") {
			from = iotest.HalfReader(from)
		}
		if rapid.Bool().Draw(t, "end with data") {
			from = iotest.DataErrReader(from)
		}
		got, err := ReadAll(from, int64(most), int64(size))
		if n > most != (err != nil) || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, at most %d: %d, %v", n, most, len(got), err)
		}
	})
}
