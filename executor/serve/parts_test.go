package serve

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor/wire"
)

// The cache drops the least recently used documents, but never the last two.
func TestDocumentCacheForgets(t *testing.T) {
	s := newDocumentCache(10)
	put := func(hash string, n int64) { s.put(&wire.Document{Hash: hash, Bytes: n}) }
	put("a", 4)
	put("b", 4)
	s.get("a")
	put("c", 4)
	if s.get("b") != nil || s.get("a") == nil || s.get("c") == nil {
		t.Error("b was used longest ago")
	}
	put("huge", 1000)
	if s.get("huge") == nil || s.get("c") == nil || s.get("a") != nil {
		t.Error("the last two stay, whatever their size")
	}
	put("huge", 1000)
	if s.used != 1004 {
		t.Errorf("%d bytes counted, want 1004", s.used)
	}
}

// FuzzFrames: any output of a launcher is read in bounded pieces, and frames come back
// whole, whatever is written between them.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("Welcome\n"), []byte("hello"), []byte("[1,0]: "))
	f.Add([]byte(frameMark+"0 !!!\n"), []byte{0, 10, 255}, []byte{})
	f.Add([]byte(frameMark+"7 AAAA\n"), []byte{}, []byte("x"))
	f.Fuzz(func(t *testing.T, noise, data, label []byte) {
		for r := newFrameReader(bytes.NewReader(noise), io.Discard); ; {
			if _, err := r.read(); err != nil {
				break
			}
		}
		if bytes.Contains(append(noise, label...), []byte("colltune")) || bytes.ContainsAny(label, "\n") || len(label) > 1000 || len(data) == 0 {
			return
		}
		var text bytes.Buffer
		w := frameWriter{to: &text}
		for range 3 {
			text.Write(noise)
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
		}
		labelled := bytes.ReplaceAll(text.Bytes(), []byte("\n"), append([]byte("\n"), label...))
		r := newFrameReader(bytes.NewReader(labelled), io.Discard)
		var got []byte
		for {
			b, err := r.read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b...)
		}
		if want := bytes.Repeat(data, 3); !bytes.Equal(got, want) {
			t.Errorf("%q came back as %q", want, got)
		}
	})
}

// A lost or broken frame is an error.
func TestFramesAreInOrder(t *testing.T) {
	for text, says := range map[string]string{
		frameMark + "1 AAAA\n": "frame 1 instead of 0",
		frameMark + "x AAAA\n": "without a number",
		frameMark + "0 A!\n":   "frame 0 is broken",
	} {
		if b, err := newFrameReader(strings.NewReader(text), io.Discard).read(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v; want %q", text, b, err, says)
		}
	}
}
