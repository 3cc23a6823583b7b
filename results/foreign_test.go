package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree is all that is in a folder: what files hold, where links lead.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := "folder"
		switch {
		case e.Type() == fs.ModeSymlink:
			text, err = os.Readlink(path)
		case !e.IsDir():
			var b []byte
			b, err = os.ReadFile(path)
			text = string(b)
		}
		all[path] = e.Type().String() + " " + text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func plant(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// foreignTexts are what a user may have in a file that is named as ours.
var foreignTexts = []string{"", "my notes", "<algo name=\"mine\" />\n<!-- made by colltune, they say -->\n", `["made by colltune 1"]`, "see what was made by colltune 1"}

// Every format leaves files that only have an export's name, and says so; where one
// is in the way, nothing is written.
func TestExportsLeaveForeignFiles(t *testing.T) {
	for _, to := range ExportFormats() {
		t.Run(to, func(t *testing.T) {
			campaign := crossing
			if to == "nccl-tuner-csv" {
				campaign = library
			}
			c := campaign(t)
			_, files := exported(t, c, ExportOptions{To: to})
			for name := range files {
				for _, text := range foreignTexts {
					out := t.TempDir()
					plant(t, filepath.Join(out, name), text)
					before := tree(t, out)
					_, err := Export(c, ExportOptions{To: to, Out: out})
					var foreign *ForeignFileError
					if !errors.As(err, &foreign) || foreign.Path != filepath.Join(out, name) {
						t.Errorf("over %q: %v", text, err)
					}
					if diff := cmp.Diff(before, tree(t, out)); diff != "" {
						t.Errorf("over %q:\n%s", text, diff)
					}
				}
			}

			// An export's own files are replaced, whatever is beside them.
			out, elsewhere := t.TempDir(), t.TempDir()
			for name, text := range files {
				plant(t, filepath.Join(elsewhere, name), text)
				plant(t, filepath.Join(out, name), text)
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
						plant(t, path, foreign)
						planted[path] = true
					}
				}
				if err := os.Symlink(filepath.Join(elsewhere, name), filepath.Join(out, "."+name+"99")); err != nil {
					t.Skip(err)
				}
				planted[filepath.Join(out, "."+name+"99")] = true
				folder := filepath.Join(out, "."+name+"7")
				plant(t, filepath.Join(folder, name), text)
				planted[filepath.Join(folder, name)] = true
			}
			before, away := tree(t, out), tree(t, elsewhere)
			report, err := Export(c, ExportOptions{To: to, Out: out})
			if err != nil {
				t.Fatal(err)
			}
			after := tree(t, out)
			for path := range planted {
				if before[path] != after[path] {
					t.Errorf("%s held %q, and holds %q", path, before[path], after[path])
				}
			}
			if diff := cmp.Diff(away, tree(t, elsewhere)); diff != "" {
				t.Errorf("where links lead:\n%s", diff)
			}
			if said := strings.Join(report.Notes, "\n"); !strings.Contains(said, "stays: it is named as an export") || strings.Contains(said, "removed") {
				t.Errorf("%s", said)
			}
		})
	}
}

// A campaign changes no file that only has the name of one of its own.
func TestCampaignsLeaveForeignFiles(t *testing.T) {
	for _, text := range []string{"my notes", "{}\n", `{"schema":"mine"}` + "\n"} {
		t.Run(text, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "campaign")
			plant(t, filepath.Join(dir, lockFile), text)
			leftAlone(t, dir, func() error {
				_, err := Create(dir, testPlan())
				return err
			})
			if err := os.Remove(filepath.Join(dir, lockFile)); err != nil {
				t.Fatal(err)
			}
			c, err := Create(dir, testPlan())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			plant(t, filepath.Join(dir, begunFile), text)
			leftAlone(t, dir, func() error {
				_, err := c.Begin(t.Context(), "key")
				return err
			})
			leftAlone(t, dir, c.Forget)
		})
	}
}

func leftAlone(t *testing.T, dir string, do func() error) {
	t.Helper()
	before := tree(t, dir)
	if err := do(); err == nil || !strings.Contains(err.Error(), "colltune did not write this") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// What a search has just made is removed again, and nothing else.
func TestDiscardLeavesForeignFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "campaign")
	c, err := Create(dir, testPlan())
	if err != nil {
		t.Fatal(err)
	}
	plant(t, filepath.Join(dir, "output", "mine.txt"), "mine")
	plant(t, filepath.Join(dir, "mine"), "mine")
	if err := c.Discard(); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, dir); len(got) != 4 || !strings.HasSuffix(got[filepath.Join(dir, "mine")], " mine") {
		t.Errorf("left: %v", got)
	}
}
