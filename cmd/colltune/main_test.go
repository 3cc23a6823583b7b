package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/colltune/colltune/constraints/z3"
	"github.com/colltune/colltune/internal/columns"
)

// asCommand makes the test binary a colltune, whatever it is called.
const asCommand = "COLLTUNE_TEST_COMMAND"

// TestMain makes the test binary a colltune, and a child of one: scripts run
// it in processes of its own, so that exit codes and crashes are real.
func TestMain(m *testing.M) {
	servePlugin()
	dispatch(os.Args)
	if os.Getenv(asCommand) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"colltune": main})
}

func TestScripts(t *testing.T) {
	var gpus fakeCUDA
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("COLLTUNE_Z3", os.Getenv("COLLTUNE_Z3"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "long":
				return os.Getenv("COLLTUNE_LONG") != "", nil
			case "z3":
				return z3.Open() == nil, nil
			case "c++":
				return gpus.compiler() != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits_, "fits": fits, "plugin": plugin, "fakecuda": gpus.command(t.TempDir())},
	})
}

// fits wants no line of files to have more characters than a table may, and no more lines in all of them
// together than a number: fits 40 stdout stderr.
func fits(ts *testscript.TestScript, neg bool, args []string) {
	most := -1
	if n, err := strconv.Atoi(args[0]); err == nil {
		most, args = n, args[1:]
	}
	if neg || len(args) < 1 {
		ts.Fatalf("usage: fits [LINES] FILE…")
	}
	lines, wide := 0, ""
	for _, name := range args {
		for line := range strings.Lines(ts.ReadFile(name)) {
			lines++
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > columns.Width {
				wide = line
			}
		}
	}
	switch {
	case wide != "":
		ts.Fatalf("more than %d characters: %s", columns.Width, wide)
	case lines == 0:
		ts.Fatalf("%s: nothing is printed", strings.Join(args, ", "))
	case most >= 0 && lines > most:
		ts.Fatalf("%d lines, want at most %d", lines, most)
	}
}

// exits_ runs colltune and wants an exit code: exits 2 topology show nope.
func exits_(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE ARGS…")
	}
	err := ts.Exec("colltune", args[1:]...)
	got := "0"
	if err != nil {
		got = err.Error()
	}
	if want := "exit status " + args[0]; got != want && !(got == "0" && args[0] == "0") {
		ts.Fatalf("%s, want %s\n%s", got, want, ts.ReadFile("stderr"))
	}
}
