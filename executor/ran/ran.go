package ran

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/atomicfile"
)

// schema is the schema of a history file.
const schema = "colltune.ran/v1"

// maxFile is the longest file of a history, in bytes.
const maxFile = 1 << 20

// Most is the number of executors kept for a folder; the oldest are dropped.
const Most = 16

// file is the contents of a history file.
type file struct {
	Schema   string `json:"schema"`
	Machine  string `json:"machine"`
	Folder   string `json:"folder"`   // without symbolic links
	Identity string `json:"identity"` // of the folder
	Runs     []Run  `json:"ran"`      // the latest last
}

// Run identifies an executor that was run, closely enough that another program in
// its place differs.
type Run struct {
	Name     string `json:"name"`
	Program  string `json:"program,omitempty"`  // a plugin's absolute path
	File     string `json:"file,omitempty"`     // Program without symbolic links
	Settings string `json:"settings,omitempty"` // hash of its table in the settings
}

// Unchanged reports whether the program's path still leads to the same file.
func (r Run) Unchanged() bool {
	file, err := filepath.EvalSymlinks(r.Program)
	return err == nil && file == r.File
}

// Of returns the record of an executor that is about to run.
func Of(r executor.Runs) Run {
	this := Run{Name: r.Name, Program: r.Program}
	if r.Program != "" {
		this.File, _ = filepath.EvalSymlinks(r.Program)
	}
	if c := r.Configured; c != nil {
		from, _ := filepath.Abs(c.From)
		launcher := ""
		if len(c.Launcher) > 0 {
			launcher, _ = exec.LookPath(c.Launcher[0])
			launcher, _ = filepath.EvalSymlinks(launcher)
		}
		table, _ := json.Marshal(c) // has only strings and numbers, so it cannot fail
		this.Settings = hashOf(from, launcher, string(table))
	}
	return this
}

// hashOf returns a SHA-256 in hex, with the texts' lengths hashed too.
func hashOf(texts ...string) string {
	h := sha256.New()
	for _, s := range texts {
		fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Runs returns the executors that this user has run on this machine for the
// campaign in dir, the latest last; nil if that is not known.
func Runs(dir string) []Run {
	path, now, err := pathOf(dir)
	if err != nil {
		return nil
	}
	h, err := readFile(path)
	if err != nil || h.Schema != now.Schema || h.Machine != now.Machine || h.Folder != now.Folder || h.Identity != now.Identity {
		return nil
	}
	return h.Runs
}

// Remember records an executor for the campaign in dir. If it fails, resume asks for
// --executor.
func Remember(dir string, this Run) error {
	path, now, err := pathOf(dir)
	if err != nil {
		return err
	}
	before := Runs(dir)
	if n := len(before); n > 0 && before[n-1] == this {
		return nil
	}
	now.Runs = append(slices.DeleteFunc(before, func(r Run) bool { return r == this }), this)
	now.Runs = now.Runs[max(0, len(now.Runs)-Most):]
	text, err := json.MarshalIndent(now, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, append(text, '\n'), 0o600)
}

// pathOf returns the path of a campaign's history file, and a history of the folder
// as it is now, without runs.
func pathOf(dir string) (path string, r file, err error) {
	state, err := stateFolder()
	if err != nil {
		return "", r, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", r, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", r, err
	}
	identity, err := folderIdentity(dir)
	if err != nil {
		return "", r, err
	}
	machine, err := os.Hostname()
	if err != nil {
		return "", r, err
	}
	return filepath.Join(state, "ran", hashOf(machine, dir)[:32]+".json"), file{schema, machine, dir, identity, nil}, nil
}

// readFile reads a history file that only this user can write.
func readFile(path string) (r file, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return r, err
	}
	if !privateFile(info) {
		return r, fmt.Errorf("%s: other users can write it", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// stateFolder returns colltune's folder in the user's state folder. It fails if the
// user's home does not exist, which is then not made.
func stateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "colltune"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(home); err != nil || !info.IsDir() {
		return "", errors.New("no home folder")
	}
	switch runtime.GOOS {
	case "darwin", "windows", "ios":
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "colltune", "state"), err
	}
	return filepath.Join(home, ".local", "state", "colltune"), nil
}
