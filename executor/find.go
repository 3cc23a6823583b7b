package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/suggest"
)

// pluginPrefix begins the names of plugins' binaries.
const pluginPrefix = "colltune-executor-"

// Found is an executor that host.Start would find.
type Found struct {
	Name string `json:"name"`
	Kind string `json:"kind"`           // configured, built-in or plugin
	Path string `json:"path,omitempty"` // a plugin's
	// Of is the kind of a configured executor, Launcher what starts it.
	Of       string `json:"of,omitempty"`
	Launcher string `json:"launcher,omitempty"`
	Remote   bool   `json:"remote,omitempty"` // it runs at its launcher's other end
}

// List lists the configured and the built-in executors, and the plugins in dirs
// and on PATH, by name. Of several with one name, Start takes the first.
func List(dirs ...string) []Found {
	var all []Found
	seen := map[string]bool{}
	for _, n := range configurations.names() {
		seen[n] = true
		c, _ := configurations.get(n)
		all = append(all, Found{Name: n, Kind: "configured", Of: c.Kind, Launcher: strings.Join(c.Launcher, " "), Remote: c.remote()})
	}
	for _, n := range builtins.names() {
		if !seen[n] {
			seen[n] = true
			all = append(all, Found{Name: n, Kind: "built-in"})
		}
	}
	for _, dir := range searchDirs(dirs) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a PATH names many folders that aren't there
		}
		for _, e := range entries {
			name, ok := strings.CutPrefix(e.Name(), pluginPrefix)
			path := filepath.Join(dir, e.Name())
			if ok && name != "" && !seen[name] && executable(path) {
				seen[name] = true
				all = append(all, Found{Name: name, Kind: "plugin", Path: path})
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// Lookup describes the executor that host.Start would start for a name. ErrNotFound:
// there is none.
func Lookup(name string, dirs ...string) (Found, error) {
	c, err := Find(name, dirs)
	if err != nil {
		return Found{}, err
	}
	if as, ok := configurations.get(name); ok {
		return Found{Name: name, Kind: "configured", Of: as.Kind, Launcher: strings.Join(as.Launcher, " "), Remote: as.remote()}, nil
	}
	if c.builtin {
		return Found{Name: c.Name, Kind: "built-in"}, nil
	}
	return Found{Name: c.Name, Kind: "plugin", Path: c.Path}, nil
}

// Runs is what starting an executor would run, for deciding whether to trust it.
type Runs struct {
	Name string // as in errors and tables
	// Program is the absolute path of a plugin; "": a built-in executor, or one that
	// runs at a launcher's other end.
	Program string
	// Configured is its entry in the settings; nil: it has none.
	Configured *Configured
}

// WouldRun returns what host.Start would run for a name, without running it. ErrNotFound:
// there is no such executor.
func WouldRun(name string, dirs ...string) (Runs, error) {
	cmd, err := Find(name, dirs)
	if err != nil {
		return Runs{}, err
	}
	r := Runs{Name: cmd.Name}
	ours := cmd.builtin || cmd.Remote
	if c, set := configurations.get(name); set {
		r.Configured = &c
		ours = ours || Builtin(c.Kind) != nil
	}
	if !ours {
		r.Program = cmd.Path
	}
	return r, nil
}

// Command is how an executor is started.
type Command struct {
	Name string // as in errors and tables
	Path string
	Args []string

	// Of a configured executor:
	Remote       bool              // it runs at a launcher's far end
	Launches     bool              // it has a launcher, which starts it or which it uses itself
	Env          []string          // NAME=VALUE pairs
	Memory       int64             // its cap in bytes; 0: the host's
	StartTimeout time.Duration     // how long it may take to start; 0: the host's
	Fingerprint  map[string]string // what its settings add to its description

	builtin bool
}

// Own reports whether it starts this very binary: a built-in, or the near end of a launcher.
// A plugin has no arguments.
func (c *Command) Own() bool { return len(c.Args) > 0 }

// Find turns a name into a command: that of a configured executor; a path, where the name
// has a slash; a built-in; or a plugin in dirs or on PATH. ErrNotFound: there is none.
func Find(name string, dirs []string) (Command, error) {
	if c, ok := configurations.get(name); ok {
		return c.command(name, dirs)
	}
	return findKind(name, dirs)
}

// findKind turns a name into a command: a path where it has a slash, then a
// built-in, then a plugin in dirs or on PATH.
func findKind(name string, dirs []string) (Command, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		path, err := filepath.Abs(name)
		if err != nil {
			return Command{}, err
		}
		switch info, err := os.Stat(path); {
		case err != nil:
			return Command{}, fmt.Errorf("%w: %s: no such file", ErrNotFound, name)
		case info.IsDir() || info.Mode()&0o111 == 0:
			return Command{}, fmt.Errorf("%w: %s: not a program that can be run", ErrNotFound, name)
		}
		return Command{Name: pluginName(path), Path: path}, nil
	}
	if Builtin(name) != nil {
		path, err := child.Self()
		return Command{Name: name, Path: path, Args: []string{ServeCommand, name}, builtin: true}, err
	}
	for _, dir := range searchDirs(dirs) {
		if path := filepath.Join(dir, pluginPrefix+name); name != "" && executable(path) {
			return Command{Name: name, Path: path}, nil
		}
	}
	known := lists.Map(List(dirs...), func(f Found) string { return f.Name })
	return Command{}, fmt.Errorf("%w: %q%s: want one of %s, or the path of a plugin", ErrNotFound, name, suggest.DidYouMean(name, known), strings.Join(known, ", "))
}

// pluginName names a plugin that is given by its path after its file, but never like a
// configured executor, nor like a built-in: other packages know the built-ins by name.
func pluginName(path string) string {
	short := strings.TrimPrefix(filepath.Base(path), pluginPrefix)
	if _, taken := configurations.get(short); taken || short == "" || Builtin(short) != nil {
		return "plugin:" + short
	}
	return short
}

// searchDirs lists the folders of plugins, in order, as absolute paths. Relative entries
// of PATH are left out: nothing runs from the current folder unless it was named.
func searchDirs(dirs []string) []string {
	var all []string
	for _, d := range dirs {
		if abs, err := filepath.Abs(d); err == nil {
			all = append(all, abs)
		}
	}
	for _, d := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(d) {
			all = append(all, d)
		}
	}
	return all
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
