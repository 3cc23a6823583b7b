package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/templates"
)

var updateReadme = flag.Bool("update-readme", false, "write the tables of README.md anew")

// shown is a table in README.md: a comment with the command that prints it and the
// columns that the page has of it, and the table's lines.
var shown = regexp.MustCompile(`<!-- (search [^\n|]*) \| ([^\n]*) -->\n((?:\|[^\n]*\n)+)`)

// columnsOf are some columns of a table in Markdown, the first that text has.
func columnsOf(t *testing.T, text string, names []string) string {
	t.Helper()
	var at []int
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line[0] != '|' {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), "|"), "|")[1:]
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if at == nil {
			for _, name := range names {
				column := slices.Index(cells, name)
				if column < 0 {
					t.Fatalf("the table has no column %q: %s", name, line)
				}
				at = append(at, column)
			}
		}
		for _, column := range at {
			b.WriteString("| " + cells[column] + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// TestReadmeShowsOutput runs the commands whose output README.md shows.
func TestReadmeShowsOutput(t *testing.T) {
	const file = "../../README.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if families := fmt.Sprintf("%d families", len(templates.Builtin())); !bytes.Contains(text, []byte(families)) {
		t.Errorf("README.md does not say that there are %s", families)
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
		return []byte("<!-- " + string(m[1]) + " | " + string(m[2]) + " -->\n" + columnsOf(t, out.String(), strings.Split(string(m[2]), ", ")))
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

// TestReadmeInThreeCommands runs the paths of README.md's three commands, each in its order,
// on files made for the test. Searches are shortened: to a size, and to rings.
func TestReadmeInThreeCommands(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(page), "\n## In three commands\n")
	part, _, _ = strings.Cut(part, "\n## ")
	examples := examplesOf(inFences(part))
	if len(examples) != 9 {
		t.Fatalf("%d commands: want three for each of three paths", len(examples))
	}
	dir := t.TempDir()
	prepare(t, dir)
	for _, own := range []string{"tuned", "campaigns"} { // the paths make their own
		if err := os.RemoveAll(filepath.Join(dir, own)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, e := range examples {
		if e.args[0] == "search" {
			e.args = append(e.args, "-b", "64K", "-e", "64K", "--family", "ring", "-p", "channels=1", "--instances", "1", "--protocol", "LL")
		}
		var told bytes.Buffer
		if code := Main(e.args, strings.NewReader(""), io.Discard, &told); code != exitDone {
			t.Errorf("colltune %s: exit code %d: %s", strings.Join(e.args, " "), code, &told)
		}
	}
}
