package msccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/verify"
)

// LintFolder reports conflicts between the files of a folder, given in the order
// in which runtimes find them: several that compete for the same calls, one that
// keeps a runtime from starting, more than a runtime holds. others are the
// folder's files that are not algorithms.
func LintFolder(names []string, files []*File, others []string) []verify.Finding {
	var found []verify.Finding
	add := func(format string, args ...any) { found = append(found, note(format, args...)) }
	for _, rt := range runtimes {
		if n := len(files); n > rt.MaxAlgorithms {
			add("%s: keeps %d files of the %d", rt.Name, rt.MaxAlgorithms, n)
		}
		// The runtimes that require ranges of sizes read a whole folder; the other
		// is given single files.
		if rt.Ranges {
			for _, name := range others {
				add("%s: reads every file of its folder, and does not start with %s there: it is no algorithm", rt.Name, name)
			}
			for i, f := range files {
				if why := refusal(f, rt); why != "" {
					add("%s: does not start with %s in its folder: %s", rt.Name, names[i], why)
				}
			}
		}
		for j, f := range files {
			if ok, _ := f.Accepts(rt); !ok {
				continue
			}
			for i, first := range files[:j] {
				if ok, _ := first.Accepts(rt); !ok || !first.competes(f, rt) {
					continue
				}
				a, b := rt.serves(first), rt.serves(f)
				add("%s: %s and %s both serve %d to %d bytes; %s", rt.Name, names[i], names[j], max(a.min, b.min), min(a.max, b.max), precedence(rt, names[i]))
			}
		}
	}
	return found
}

// refusal returns the reason why a file keeps a runtime that reads a whole
// folder from starting, or "": the runtime can't read its text, or an attribute
// is missing.
func refusal(f *File, rt *Runtime) string {
	var why []string
	for _, r := range rules {
		if r.name == "reader of XML" || r.name == "attributes" {
			if reason := r.check(f, rt); reason != "" {
				why = append(why, reason)
			}
		}
	}
	return strings.Join(why, "; ")
}

// precedence says which of several files for the same call a runtime uses.
func precedence(rt *Runtime, first string) string {
	switch rt.Name {
	case "executor-nccl":
		return fmt.Sprintf("%s is found first", first)
	case "msccl":
		return fmt.Sprintf("%s is found first, where MSCCL_XML_FILES has them by name", first)
	}
	return "which is found first is the folder's own order"
}

// competes reports whether there are calls for which a runtime could use either
// file.
func (f *File) competes(other *File, rt *Runtime) bool {
	if f.Computes() != other.Computes() || f.NGPUs != other.NGPUs {
		return false
	}
	a, b := rt.serves(f), rt.serves(other)
	if max(a.min, b.min) > min(a.max, b.max) {
		return false
	}
	return slices.ContainsFunc(f.Placements(), func(p bool) bool { return slices.Contains(other.Placements(), p) })
}
