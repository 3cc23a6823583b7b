package script

import (
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/internal/suggest"
)

// pythonSyntax lists Python syntax that Starlark lacks: the prefix of the
// parser's message, and a replacement.
var pythonSyntax = []struct{ message, instead string }{
	{"got with,", "there is no with: write for _ in parallelize(N):"},
	{"got import,", `there is no import: load("rings.star", "AllGather") reaches what the families share`},
	{"got from,", `there is no import: load("rings.star", "AllGather") reaches what the families share`},
	{"got class,", "there are no classes: functions and dictionaries do"},
	{"got try,", "there are no exceptions: fail(\"why\") stops the program"},
	{"got raise,", "there are no exceptions: write fail(\"why\")"},
	{"got global,", "values at the top level are frozen: hand on what a function changes"},
	{"got nonlocal,", "a function cannot assign to names around it: hand on what it changes"},
	{"got yield,", "there are no generators: build a list"},
	{"got is,", "there is no is: write =="},
	{"got '**',", "there is no **: 1 << n is 2 to the n"},
	{"got string literal,", `there are no f-strings: write "%d" % n`},
	{"this Starlark dialect does not support while loops", "write for _ in range(N): and break"},
}

// pythonHint returns the replacement if a parser's message is about Python
// syntax that Starlark lacks, otherwise "".
func pythonHint(message string) string {
	for _, e := range pythonSyntax {
		if strings.HasPrefix(message, e.message) {
			return " (" + e.instead + ")"
		}
	}
	return ""
}

// similarName returns the known name that an unknown one probably stands for.
// Short names are close to everything, so for them only one letter may differ.
func similarName(message string) string {
	name, undefined := strings.CutPrefix(message, "undefined: ")
	if !undefined {
		return ""
	}
	known := slices.Sorted(maps.Keys(predeclared))
	for _, n := range slices.Sorted(maps.Keys(starlark.Universe)) {
		if _, ours := predeclared[n]; !ours {
			known = append(known, n)
		}
	}
	near := slices.DeleteFunc(known, func(n string) bool { return suggest.Distance(name, n) > 1+len(name)/8 })
	return suggest.DidYouMean(name, near)
}
