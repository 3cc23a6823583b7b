package main

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

// What this user has run for a campaign is kept in the user's own folder of state,
// and never in the campaign: one small file for each campaign's folder and machine.
//
//	~/.local/state/colltune/ran/HASH.json
//
// It holds for that very folder: one that was moved there, or made anew, has
// another identity (folderIdentity).

// historySchema names the form of such a file.
const historySchema = "colltune.ran/v1"

// maxPastRuns limits how many executors are kept for a folder; the oldest go.
const maxPastRuns = 16

// historyFile is such a file.
type historyFile struct {
	Schema   string    `json:"schema"`
	Machine  string    `json:"machine"`
	Folder   string    `json:"folder"`   // without symbolic links
	Identity string    `json:"identity"` // of the folder
	Runs     []pastRun `json:"ran"`      // the latest last
}

// pastRun is an executor that was run, as far as another program must not take its
// place.
type pastRun struct {
	Name     string `json:"name"`
	Program  string `json:"program,omitempty"`  // a plugin's absolute path
	File     string `json:"file,omitempty"`     // the same without symbolic links
	Settings string `json:"settings,omitempty"` // a hash of its table in the settings
}

// unchanged reports whether its program is the file that it was.
func (r pastRun) unchanged() bool {
	file, err := filepath.EvalSymlinks(r.Program)
	return err == nil && file == r.File
}

// pastRunOf describes an executor that is about to be run.
func pastRunOf(r executor.Runs) pastRun {
	this := pastRun{Name: r.Name, Program: r.Program}
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
		table, _ := json.Marshal(c) // strings and numbers only: can't fail
		this.Settings = hashOf(from, launcher, string(table))
	}
	return this
}

func hashOf(texts ...string) string {
	h := sha256.New()
	for _, s := range texts {
		fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// pastRuns lists what this user has run for the campaign in a folder, on this
// machine; nothing where that is not known.
func pastRuns(dir string) []pastRun {
	path, now, err := historyPath(dir)
	if err != nil {
		return nil
	}
	kept, err := readHistory(path)
	if err != nil || kept.Schema != now.Schema || kept.Machine != now.Machine || kept.Folder != now.Folder || kept.Identity != now.Identity {
		return nil
	}
	return kept.Runs
}

// remember keeps that an executor is run for the campaign in a folder. An error
// only means that it must be named again.
func remember(dir string, this pastRun) error {
	path, now, err := historyPath(dir)
	if err != nil {
		return err
	}
	before := pastRuns(dir)
	if n := len(before); n > 0 && before[n-1] == this {
		return nil
	}
	now.Runs = append(slices.DeleteFunc(before, func(r pastRun) bool { return r == this }), this)
	now.Runs = now.Runs[max(0, len(now.Runs)-maxPastRuns):]
	text, err := json.MarshalIndent(now, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, append(text, '\n'), 0o600)
}

// historyPath is the file for a campaign's folder, and the record of it as the folder is
// now, with nothing run.
func historyPath(dir string) (path string, r historyFile, err error) {
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
	return filepath.Join(state, "ran", hashOf(machine, dir)[:32]+".json"), historyFile{historySchema, machine, dir, identity, nil}, nil
}

// readHistory reads such a file, if nobody but this user can have written it.
func readHistory(path string) (r historyFile, err error) {
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
		return r, fmt.Errorf("%s: others can write it", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSettings))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// stateFolder is where colltune keeps what it remembers for this user. A home that
// does not exist is not made.
func stateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "colltune"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if !isFolder(home) {
		return "", errors.New("no home")
	}
	switch runtime.GOOS {
	case "darwin", "windows", "ios":
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "colltune", "state"), err
	}
	return filepath.Join(home, ".local", "state", "colltune"), nil
}
