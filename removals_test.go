package colltune

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// removals are all places that take files away: a call to os.Remove, a Root's Remove,
// a RemoveAll or a Glob, with the reason why it can't meet what a user made. A folder
// is only removed when it is empty, and nothing with all that it holds.
var removals = map[string]string{
	"cmd/colltune/doctor.go gpus Glob":                 "looks for device files, and removes nothing",
	"cmd/colltune/places.go canWrite Remove":           "the file that CreateTemp made a line above",
	"executor/cuda/emulate/grid.go makeUnready Remove": "from a list in memory",
	"executor/examples/liar/main.go main Remove":       "the socket that it listens at, in the folder it was given",
	"executor/documentcache.go put Remove":             "from a list in memory",
	"executor/nccl/onehost.go log Remove":              "the log in a folder that MkdirTemp made for it, and the folder if it is empty",
	"executor/nccl/program.go holdProgram Remove":      "the program in a folder that MkdirTemp made for it, and the folder if it is empty",
	"executor/sockets.go emptyRun Remove":              "sockets, and empty files named as they are, in a folder that has the mark",
	"executor/sockets.go mark Remove":                  "the file that it has just made and could not write",
	"executor/sockets.go newSockets Remove":            "the folder that MkdirTemp made a line above, if it is empty",
	"executor/sockets.go removeSocketsIn Remove":       "the mark of a host that is gone, its sockets, and their folder if it is empty",
	"internal/atomicfile/atomicfile.go Remove Remove":  "what Discard removes",
	"internal/atomicfile/atomicfile.go Discard Remove": "the file that New made, which has taken nobody's place",
	"internal/memory/use_linux.go childrenOf Glob":     "reads what the system says of processes, and removes nothing",
	"results/cache.go removeEntry Remove":              "an entry of the cache of candidates, by its name and the mark at its beginning",
	"results/cache.go writeCached Remove":              "the entry that it has just made and could not write",
	"results/export/folder.go tidy Remove":             "a file of an earlier export, by its name and by what it says of its origin",
	"results/open.go Discard Remove":                   "what Create made for a campaign that came to nothing, and the folders that it made for it if they are empty",
	"templates/registry.go Files Glob":                 "reads templates, and removes nothing",
}

func TestRemovalsAreListed(t *testing.T) {
	calls := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != ".":
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			within := "init"
			if f, ok := d.(*ast.FuncDecl); ok {
				within = f.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && takesAway(s) {
					calls[filepath.ToSlash(path)+" "+within+" "+s.Sel.Name] = true
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) == 0 {
		t.Fatal("nothing found: this test looks in the wrong place")
	}
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		if removals[call] == "" {
			t.Errorf("%s: a new place that takes files away; say in this file why it can't meet a user's", call)
		}
		if strings.HasSuffix(call, " RemoveAll") {
			t.Errorf("%s: remove by name what was made, then the empty folder", call)
		}
	}
	for call := range removals {
		if !calls[call] {
			t.Errorf("%s: is not there any more", call)
		}
	}
}

// takesAway reports whether something is named that removes files, or finds them by a
// pattern. Other types have methods called Remove, too: such a one is to be renamed, or
// listed.
func takesAway(s *ast.SelectorExpr) bool {
	switch s.Sel.Name {
	case "Remove", "RemoveAll", "Glob", "Unlink", "Rmdir", "Unlinkat":
		return true
	}
	return false
}
