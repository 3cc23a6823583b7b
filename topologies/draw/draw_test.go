package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

var resolve = topotest.Resolve

// TestText compares drawings with those that were looked at.
func TestText(t *testing.T) {
	for _, c := range []struct {
		arg, golden string
		nodes       int
	}{
		{"dgx-1", "dgx-1", 1},
		{"dgx-a100", "dgx-a100-256x", 256},
		{"lassen", "lassen-2x", 2},
		{"dgx-2-teccl", "dgx-2-teccl-2x", 2},
		{"ring:6", "ring", 1},
		{"testdata/mixed.toml", "mixed", 0},
	} {
		var b bytes.Buffer
		if err := Text(&b, resolve(t, c.arg, c.nodes)); err != nil {
			t.Fatal(err)
		}
		golden := "testdata/" + c.golden + ".txt"
		if os.Getenv("COLLTUNE_GOLDEN") != "" {
			if err := os.WriteFile(golden, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.arg, diff)
		}
	}
}

// TestPictures: every system there is, drawn twice alike; SVG is XML with a box
// for each vertex that is drawn, DOT has a line for each vertex and link.
func TestPictures(t *testing.T) {
	for _, arg := range append(topologies.Names(), "ring:2", "mesh:4x4", "hub:9", "fullmesh:16", "testdata/mixed.toml") {
		nodes := 2
		if strings.ContainsAny(arg, ":/") {
			nodes = 0
		}
		top := resolve(t, arg, nodes)
		var once, twice bytes.Buffer
		if err := errors.Join(SVG(&once, top), SVG(&twice, top)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("%s: two pictures of one system", arg)
		}
		boxes, lines := 0, 0
		d := xml.NewDecoder(bytes.NewReader(once.Bytes()))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", arg, err)
			}
			if e, ok := token.(xml.StartElement); ok {
				switch e.Name.Local {
				case "g":
					boxes++
				case "line":
					lines++
				}
			}
		}
		if top.Nodes <= svgNodes && boxes != len(top.Vertices) {
			t.Errorf("%s: %d boxes for %d vertices", arg, boxes, len(top.Vertices))
		}
		if links := len(linksOf(top)); lines < links && top.Nodes <= svgNodes {
			t.Errorf("%s: %d lines for %d links", arg, lines, links)
		}
		if bytes.Contains(once.Bytes(), []byte("NaN")) || bytes.Contains(once.Bytes(), []byte("Inf")) {
			t.Errorf("%s: a place that is no number", arg)
		}
	}
}

// TestLinks: a cable is one link, one way or both, and nothing is lost.
func TestLinks(t *testing.T) {
	for _, arg := range []string{"dgx-1", "dgx-2-teccl", "lassen", "ndv2"} {
		top := resolve(t, arg, 3)
		edges := 0
		for _, l := range linksOf(top) {
			if edges++; l.both {
				edges++
			}
		}
		if edges != len(top.Edges) {
			t.Errorf("%s: links stand for %d edges of %d", arg, edges, len(top.Edges))
		}
	}
}

func TestNamesAreEscaped(t *testing.T) {
	text, err := os.ReadFile("testdata/mixed.toml")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`name      = "hub"`), []byte("name = '<b>\"hub\"&'"), 1)
	top, err := topologies.Read("x.toml", text, topologies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var svg bytes.Buffer
	if err := SVG(&svg, top); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(svg.String(), "<b>") || !strings.Contains(svg.String(), "&lt;b&gt;") {
		t.Error("SVG has a name as it is")
	}
}

func TestRanges(t *testing.T) {
	for want, ns := range map[string][]int{"": nil, "3": {3}, "0-2": {0, 1, 2}, "0,2-3,7": {7, 2, 0, 3}} {
		if got := ranges(ns); got != want {
			t.Errorf("%v is %s, want %s", ns, got, want)
		}
	}
}

func BenchmarkText2048(b *testing.B) {
	top := resolve(b, "dgx-a100", 256)
	for b.Loop() {
		if err := Text(io.Discard, top); err != nil {
			b.Fatal(err)
		}
	}
}
