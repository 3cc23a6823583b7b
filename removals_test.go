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

// removals are all places that take files away, or what is in them, with the reason why
// it can't meet what a user made: removals, searches by pattern, and what replaces or
// empties a file. A folder is only removed when it is empty, and nothing with all that
// it holds.
var removals = map[string]string{
	"executor/executortest/nonconforming.go init WriteFile":    "in the folder that a test's executor was given for its socket",
	"executor/executortest/killed.go stopped Glob":             "looks for threads, and removes nothing",
	"executor/executortest/killed.go leave2 WriteFile":         "in a test's folder",
	"executor/executortest/killed.go hostToBeKilled WriteFile": "in a test's folder",
	"executor/executortest/faults.go leave WriteFile":          "in a test's folder",
	"executor/executortest/escape_linux.go escape WriteFile":   "in a test's folder",
	"cmd/colltune/doctor.go probeGPUs Glob":                    "looks for device files, and removes nothing",
	"cmd/colltune/output_file.go checkWritable Remove":         "the file that CreateTemp made a line above",
	"executor/executortest/liar/main.go main Remove":           "the socket that it listens at, in the folder it was given",
	"executor/serve/documents.go put Remove":                   "from a list in memory",
	"internal/child/usage_linux.go PreferOOMKill WriteFile":    "a setting of the system's, for a process that we started",
	"executor/executortest/liar/main.go diesOnce WriteFile":    "beside the example's own program, under its name",
	"executor/nccl/onehost.go log Remove":                      "the log in a folder that MkdirTemp made for it, and the folder if it is empty",
	"executor/nccl/program.go selectProgram Remove":            "the program in a folder that MkdirTemp made for it, and the folder if it is empty",
	"executor/nccl/program.go selectProgram WriteFile":         "a new file in a folder that MkdirTemp made a few lines above",
	"executor/host/sockets.go emptyRun Remove":                 "sockets, and empty files named as they are, in a folder that has the mark",
	"executor/host/sockets.go mark Remove":                     "the file that it has just made and could not write",
	"executor/host/sockets.go newSockets Remove":               "the folder that MkdirTemp made a line above, if it is empty",
	"executor/host/sockets.go removeSocketsIn Remove":          "the mark of a host that is gone, its sockets, and their folder if it is empty",
	"internal/atomicfile/atomicfile.go Remove Remove":          "what Discard removes",
	"internal/atomicfile/atomicfile.go Discard Remove":         "the file that New made, which has taken nobody's place",
	"internal/atomicfile/atomicfile.go Commit Rename":          "what it replaces is the caller's to judge: files of a campaign or an export that say whose they are, and what --out names",
	"internal/atomicfile/atomicfile.go Rename Rename":          "what Commit replaces",
	"internal/filetest/filetest.go Plant WriteFile":            "plants files for tests, in their folders",
	"results/cache.go removeEntry Remove":                      "an entry of the cache of candidates, by its name and the mark at its beginning",
	"results/cache.go writeCached Remove":                      "the entry that it has just made and could not write",
	"results/export/folder.go tidy Remove":                     "a file of an earlier export, by its name and by what it says of its origin",
	"results/journal.go append Truncate":                       "what was written of a record that could not be written whole",
	"results/journal.go openJournal Truncate":                  "what a killed search left of a record, after the records that are whole",
	"results/journal.go reset Truncate":                        "the records of a journal that has been read, which another plan replaces",
	"results/lock.go lock Remove":                              "a file that isLock recognises, which is locked and now empty",
	"results/lock.go lock Truncate":                            "a file that isLock recognises, or that was made empty a few lines above",
	"results/map.go make Remove":                               "a campaign's folder that it has just made, if it is empty",
	"results/mapmake.go Discard Remove":                        "campaigns that CreateMap has just made, as Remove does",
	"results/mapmake.go Leave Remove":                          "a campaign without trials, of a number of nodes for which there is nothing to search",
	"results/open.go Discard Remove":                           "what Remove removes",
	"results/open.go Remove Remove":                            "what Create made for a campaign without trials, and the folders that it made for it if they are empty",
	"results/open.go removeDirs Remove":                        "folders that were made for a campaign or a map, if they are empty",
	"results/open.go removeFiles Remove":                       "plan, journal, lock or list of a campaign or a map that Create has made or read",
	"templates/registry.go Files Glob":                         "reads templates, and removes nothing",
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
			t.Errorf("%s: a new place that takes files away or replaces them; say in this file why it can't meet a user's", call)
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

// takesAway reports whether something is named that removes files, finds them by a
// pattern, replaces them or empties them. Other types have methods called Remove, too:
// such a one is to be renamed, or listed. Create is only that of package os.
func takesAway(s *ast.SelectorExpr) bool {
	switch s.Sel.Name {
	case "Remove", "RemoveAll", "Glob", "Unlink", "Rmdir", "Unlinkat", "Rename", "Truncate", "Ftruncate", "O_TRUNC", "WriteFile":
		return true
	case "Create":
		from, ok := s.X.(*ast.Ident)
		return ok && from.Name == "os"
	}
	return false
}
