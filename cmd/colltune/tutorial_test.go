package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var updateTutorial = flag.Bool("update-tutorial", false, "write the output in docs/tutorial.md anew")

// tableShown is the comment above a table in Markdown: the command that prints it, and the
// columns that the page has of it.
var tableShown = regexp.MustCompile(`^<!-- ([^|]*) \| (.*) -->$`)

// wholeShown is the comment above a block of text that is all that a command prints.
var wholeShown = regexp.MustCompile(`^<!-- ([^|]*) -->$`)

var anyNumber = regexp.MustCompile(`[0-9][0-9.]*`)

// TestTutorial runs the page's commands, in its order, and holds it to what they print.
func TestTutorial(t *testing.T) {
	const file = "../../docs/tutorial.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../docs/tutorial")); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	began := time.Now()
	now, blocks, outputs := readAloud(t, "docs/tutorial.md", string(page))
	if blocks < 7 || outputs < 7 {
		t.Errorf("%d blocks of commands and %d of output: too few to be all of them", blocks, outputs)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the commands take %v: the page says seconds", took)
	}
	holdTo(t, here, now, *updateTutorial, "update-tutorial")
}

// readAloud does what a page shows, from the top: it runs the blocks of commands without a
// language, and returns the page with what they print in the blocks of text and the tables, and
// how many blocks of commands and of output it has. Below a comment with a command, a block of
// text is all of its output; else it is lines of what the last block of commands prints.
func readAloud(t *testing.T, name, page string) (now string, blocks, outputs int) {
	t.Helper()
	var b strings.Builder
	var printed []string // by the last block of commands
	var whole []string   // by the command in the comment above
	lines := slices.Collect(strings.Lines(page))
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		b.WriteString(line)
		if language, fence := strings.CutPrefix(line, "```"); fence {
			from := i + 1
			for i = from; i < len(lines) && lines[i] != "```\n"; i++ {
			}
			inside := strings.Join(lines[from:i], "")
			switch language {
			case "\n":
				blocks++
				printed = runShown(t, inside)
			case "text\n":
				outputs++
				if whole != nil {
					inside, whole = strings.Join(whole, "\n")+"\n", nil
				} else {
					inside = asPrinted(t, name, inside, printed)
				}
			}
			b.WriteString(inside + "```\n")
		} else if m := wholeShown.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			whole = runShown(t, "colltune "+m[1])
		} else if m := tableShown.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			outputs++
			for i+1 < len(lines) && lines[i+1][0] == '|' {
				i++
			}
			b.WriteString(columnsOf(t, strings.Join(runShown(t, "colltune "+m[1]), "\n"), strings.Split(m[2], ", ")))
		}
	}
	return b.String(), blocks, outputs
}

// runShown runs the commands of a block, and returns the lines that they print.
func runShown(t *testing.T, block string) []string {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(block) {
		words := strings.Fields(remark.ReplaceAllString(strings.TrimSuffix(line, "\n"), ""))
		switch words[0] {
		case "colltune":
			if code := Main(words[1:], strings.NewReader(""), &out, &out); code != exitDone {
				t.Fatalf("%s: exit code %d: %s", line, code, &out)
			}
		case "cp":
			text, err := os.ReadFile(words[1])
			if err == nil {
				err = os.WriteFile(words[2], text, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("%s: want a command of colltune, or cp", line)
		}
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// asPrinted returns the lines shown as they are printed now: in place of each, the one
// that differs from it in numbers alone.
func asPrinted(t *testing.T, name, shown string, printed []string) string {
	t.Helper()
	alike := func(line string) string {
		return strings.Join(strings.Fields(anyNumber.ReplaceAllString(line, "1")), " ")
	}
	var b strings.Builder
	for line := range strings.Lines(shown) {
		line = strings.TrimSuffix(line, "\n")
		at := slices.Index(printed, line)
		if at < 0 {
			at = slices.IndexFunc(printed, func(now string) bool { return alike(now) == alike(line) })
		}
		if at < 0 {
			t.Fatalf("%s shows a line that is not printed:\n%s\namong\n%s", name, line, strings.Join(printed, "\n"))
		}
		b.WriteString(printed[at] + "\n")
		printed = printed[at+1:]
	}
	return b.String()
}
