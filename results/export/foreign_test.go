package export

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/colltune/colltune/internal/filetest"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/google/go-cmp/cmp"
)

// foreignTexts are what a user may have in a file that is named as ours.
var foreignTexts = []string{"", "my notes", "<algo name=\"mine\" />\n<!-- made by colltune, they say -->\n", `["made by colltune 1"]`, "see what was made by colltune 1"}

// Every format leaves files that only have an export's name, and says so; where one
// is in the way, nothing is written.
func TestExportsLeaveForeignFiles(t *testing.T) {
	for _, to := range Formats() {
		t.Run(to, func(t *testing.T) {
			campaign := crossing
			if to == "nccl-tuner-csv" {
				campaign = resultstest.Library
			}
			c := campaign(t)
			_, files := exported(t, c, Options{To: to, Left: ringAlone, KeepSlower: true})
			for name := range files {
				for _, text := range foreignTexts {
					out := t.TempDir()
					filetest.Plant(t, filepath.Join(out, name), text)
					before := filetest.Tree(t, out)
					_, err := Write(c, Options{To: to, Out: out, Left: ringAlone, KeepSlower: true})
					var foreign *ForeignFileError
					if !errors.As(err, &foreign) || foreign.Path != filepath.Join(out, name) {
						t.Errorf("over %q: %v", text, err)
					}
					if diff := cmp.Diff(before, filetest.Tree(t, out)); diff != "" {
						t.Errorf("over %q:\n%s", text, diff)
					}
				}
			}

			// An export's own files are replaced, whatever is beside them.
			out, elsewhere := t.TempDir(), t.TempDir()
			for name, text := range files {
				filetest.Plant(t, filepath.Join(elsewhere, name), text)
				filetest.Plant(t, filepath.Join(out, name), text)
			}
			planted := map[string]bool{}
			for name, text := range files {
				earlier := strings.NewReplacer("-in-01-1K", "-in-99-1K", "-in-1K", "-in-99K", "-in-ranges", "-in-99-x.ir").Replace(name)
				for i, foreign := range foreignTexts {
					for _, alike := range []string{earlier, "." + name + "123", "." + name + "mine", "copy-of-" + name} {
						if alike == name || i > 0 && alike == earlier {
							continue
						}
						if foreign == "" && alike == "."+name+"123" {
							continue // as an export leaves it that is killed as it begins
						}
						path := filepath.Join(out, alike)
						filetest.Plant(t, path, foreign)
						planted[path] = true
					}
				}
				if err := os.Symlink(filepath.Join(elsewhere, name), filepath.Join(out, "."+name+"99")); err != nil {
					t.Skip(err)
				}
				planted[filepath.Join(out, "."+name+"99")] = true
				folder := filepath.Join(out, "."+name+"7")
				filetest.Plant(t, filepath.Join(folder, name), text)
				planted[filepath.Join(folder, name)] = true
			}
			before, away := filetest.Tree(t, out), filetest.Tree(t, elsewhere)
			report, err := Write(c, Options{To: to, Out: out, Left: ringAlone, KeepSlower: true})
			if err != nil {
				t.Fatal(err)
			}
			after := filetest.Tree(t, out)
			for path := range planted {
				if before[path] != after[path] {
					t.Errorf("%s held %q, and holds %q", path, before[path], after[path])
				}
			}
			if diff := cmp.Diff(away, filetest.Tree(t, elsewhere)); diff != "" {
				t.Errorf("where links lead:\n%s", diff)
			}
			if said := strings.Join(report.Notes, "\n"); !strings.Contains(said, "stays: it is named as an export") || strings.Contains(said, "removed") {
				t.Errorf("%s", said)
			}
		})
	}
}
