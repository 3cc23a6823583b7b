package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var updateReadme = flag.Bool("update-readme", false, "write the tables of README.md anew")

// shown is a table in README.md: the command that prints it, in a comment, and
// what it printed.
var shown = regexp.MustCompile("(?s)<!-- (search [^\n]*) -->\n```\n(.*?)```\n")

// TestReadmeShowsWhatIsPrinted runs the commands whose output README.md shows.
func TestReadmeShowsWhatIsPrinted(t *testing.T) {
	const file = "../../README.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	now := shown.ReplaceAllFunc(text, func(block []byte) []byte {
		tables++
		m := shown.FindSubmatch(block)
		var out bytes.Buffer
		args := append(strings.Fields(string(m[1])), "--campaign", filepath.Join(t.TempDir(), "campaign"))
		if code := Main(args, strings.NewReader(""), &out, io.Discard); code != exitDone {
			t.Fatalf("%s: exit code %d", m[1], code)
		}
		return []byte("<!-- " + string(m[1]) + " -->\n```\n" + out.String() + "```\n")
	})
	switch {
	case tables == 0:
		t.Error("README.md shows no table")
	case bytes.Equal(text, now):
	case *updateReadme:
		if err := os.WriteFile(file, now, 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("README.md shows other tables than are printed now (go test -update-readme writes them anew):\n%s", now)
	}
}
