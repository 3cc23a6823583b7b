package compiler

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew); got\n%s", file, got)
	}
}

// dumps returns the program after each pass.
func dumps(t *testing.T, p *lang.Program, o Options) map[string]string {
	t.Helper()
	all := map[string]string{}
	o.DumpAfter, o.CheckEachPass = "all", true
	o.Dump = func(pass, text string) { all[pass] = text }
	if _, err := Compile(p, o); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPassesOnARing shows a three-rank ring AllReduce after every pass.
func TestPassesOnARing(t *testing.T) {
	texts := dumps(t, ringAllReduce(3, 1), Options{})
	var b strings.Builder
	for _, p := range Passes() {
		fmt.Fprintf(&b, "== %s\n%s", p.Name, texts[p.Name])
	}
	golden(t, "ring3.txt", b.String())
}

// after compiles a program and gives the lines of one pass's dump, without those
// above the first operation, instruction or threadblock.
func after(t *testing.T, pass string, p *lang.Program, o Options) []string {
	t.Helper()
	text := strings.TrimSuffix(dumps(t, p, o)[pass], "\n")
	lines := strings.Split(text, "\n")
	first := slices.IndexFunc(lines, func(l string) bool { return l[0] >= '0' && l[0] <= '9' || strings.HasPrefix(l, "rank ") })
	return lines[first:]
}

// scratchpad returns an empty program on four ranks, for operations in scratch, of which
// no chunk is part of a result.
func scratchpad() *builder {
	return begin(collective.Spec{Name: "alltonext", Ranks: 4, Chunks: 1})
}

// passCase is a program and its dump after a pass.
type passCase struct {
	pass, name string
	write      func(*builder)
	opt        Options
	want       []string
}

// TestEachPass compares programs after each pass with the expected ones: cases where the
// pass applies, and cases where it must not.
func TestEachPass(t *testing.T) {
	for _, c := range slices.Concat(operationCases, instructionCases) {
		t.Run(c.pass+"/"+c.name, func(t *testing.T) {
			b := scratchpad()
			c.write(b)
			for _, p := range []string{"propagate copies", "sink copies"} {
				if c.pass != p && !strings.HasPrefix(c.name, "an operand") {
					c.opt.Disable = append(c.opt.Disable, p) // most copies here are dead
				}
			}
			got := after(t, c.pass, &b.p, c.opt)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
