package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/tomlfile"
)

// A flag that is not on the command line takes its value from COLLTUNE_NAME in the
// environment, else from ./colltune.toml, else from the user's own file, else its
// default. In the files a key is a flag's long name:
//
//	topology = "dgx-a100"
//	jobs     = 4
//	family   = ["ring", "all-pairs"]
//
// Tables executor.NAME define executors (flags_settings_executor.go).

// applySettings sets the flags of cmd that are not on the command line, and registers
// the executors of the settings files.
func applySettings(cmd *cobra.Command) error {
	known := flagNames(cmd.Root())
	files, err := readAllSettings(known)
	if err != nil {
		return usage(err)
	}
	defer func() { // the settings may say quiet
		if !quiet(cmd) {
			warnMisspelt(known, os.Environ(), cmd.ErrOrStderr())
		}
	}()
	for name, table := range files.executors() {
		if err := table.configure(name); err != nil {
			return usage(err)
		}
	}
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || failed != nil {
			return
		}
		if name := envVariable(f.Name); os.Getenv(name) != "" {
			failed = setFlag(cmd, f, setting{values: []string{os.Getenv(name)}, where: name})
			return
		}
		for _, file := range files {
			if s, ok := file.flags[f.Name]; ok {
				failed = setFlag(cmd, f, s)
				return
			}
		}
	})
	return usage(failed)
}

// setting is a flag's value from the environment or a file. where names the variable,
// or file, line and key.
type setting struct {
	values []string
	list   bool // written as a TOML list, of any length
	where  string
}

// setFlag sets a flag, and records where its value comes from.
func setFlag(cmd *cobra.Command, f *pflag.Flag, s setting) error {
	if list, ok := f.Value.(pflag.SliceValue); ok && s.list {
		if err := list.Replace(s.values); err != nil {
			return fmt.Errorf("%s: %q: want %s", s.where, s.values, typeWants[f.Value.Type()])
		}
		f.Changed = true
	} else if s.list {
		return fmt.Errorf("%s: want one value, not a list", s.where)
	} else if err := cmd.Flags().Set(f.Name, s.values[0]); err != nil {
		return fmt.Errorf("%s: %w", s.where, valueError(err))
	}
	return cmd.Flags().SetAnnotation(f.Name, settingAnnotation, []string{s.where})
}

// settingAnnotation is the annotation of a flag whose value comes from the
// environment or a file: its setting.where.
const settingAnnotation = "colltune-settled"

// typed reports whether a flag was given on this command line. A command may refuse a
// typed flag that it does not use, but not a setting, which is for all commands.
func typed(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	return f.Changed && f.Annotations[settingAnnotation] == nil
}

// fromLocalSettings reports whether a flag's value comes from ./colltune.toml, which
// may not be the user's own.
func fromLocalSettings(cmd *cobra.Command, name string) bool {
	from := cmd.Flags().Lookup(name).Annotations[settingAnnotation]
	return from != nil && strings.HasPrefix(from[0], localSettings+":")
}

// envPrefix is the prefix of colltune's environment variables.
const envPrefix = "COLLTUNE_"

func envVariable(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// warnMisspelt warns of environment variables that look like a misspelt setting. They
// are not errors, because they may be meant for a program that colltune starts.
func warnMisspelt(known, environment []string, stderr io.Writer) {
	names := []string{"Z3"}
	for _, k := range known {
		names = append(names, strings.TrimPrefix(envVariable(k), envPrefix))
	}
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		short, ours := strings.CutPrefix(name, envPrefix)
		if !ours || value == "" || slices.Contains(names, short) || strings.HasPrefix(short, "EXECUTOR_") {
			continue
		}
		if meant := suggest.Nearest(short, names); meant != "" {
			fmt.Fprintf(stderr, "%s is not a setting (did you mean %s%s?): ignored\n", name, envPrefix, meant)
		}
	}
}

// explainSetting prints where the values of flags in an error's text come from, if they
// were not typed.
func explainSetting(cmd *cobra.Command, err string, stderr io.Writer) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		from := f.Annotations[settingAnnotation]
		if from == nil || strings.Contains(err, from[0]) {
			return
		}
		value := f.Value.String()
		named := strings.Contains(err, "--"+f.Name) || strings.Contains(err, f.Name+" "+value)
		if named || len(value) > 1 && strings.Contains(err, value) {
			fmt.Fprintf(stderr, "--%s is %s, set by %s\n", f.Name, value, from[0])
		}
	})
}

// flagNames returns the long names of all commands' flags, sorted.
func flagNames(root *cobra.Command) []string {
	seen := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		add := func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && f.Name != "version" {
				seen[f.Name] = true
			}
		}
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk(root)
	return slices.Sorted(maps.Keys(seen))
}

// localSettings is the settings file of the current folder.
const localSettings = "colltune.toml"

// settingsPaths returns the paths of the settings files. Earlier files win.
func settingsPaths() []string {
	files := []string{localSettings}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "colltune", "config.toml"))
	}
	return files
}

// maxSettings is the largest settings file, in bytes.
const maxSettings = 1 << 20

type settingsFile struct {
	flags     map[string]setting
	executors map[string]executorTable // by the executor's name
}

// readAllSettings reads the settings files that exist.
func readAllSettings(known []string) (settingsFiles, error) {
	var files settingsFiles
	for _, path := range settingsPaths() {
		f, err := readSettings(path, known)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// settingsFiles are settings files. Earlier files win.
type settingsFiles []settingsFile

// executors returns the executors of all files. The earlier file's wins.
func (l settingsFiles) executors() map[string]executorTable {
	all := map[string]executorTable{}
	for _, f := range slices.Backward(l) {
		maps.Copy(all, f.executors)
	}
	return all
}

// readSettings reads a settings file. A missing file is empty, and so is one whose
// folder is not a folder (HOME=/dev/null) or is not readable.
func readSettings(path string, known []string) (settingsFile, error) {
	var none settingsFile
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrPermission):
		return none, nil
	case err != nil:
		return none, err
	case !info.Mode().IsRegular():
		return none, fmt.Errorf("%s: not a regular file: want a settings file", path)
	case info.Size() > maxSettings:
		return none, fmt.Errorf("%s: %d bytes: want at most %d", path, info.Size(), maxSettings)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return none, err
	}
	var raw map[string]any
	_, lines, err := tomlfile.Decode(string(text), &raw)
	if err != nil {
		if at := (*tomlfile.Error)(nil); errors.As(err, &at) {
			return none, fmt.Errorf("%s:%d: %s", path, at.Line, at.Msg)
		}
		return none, fmt.Errorf("%s: %w", path, err)
	}
	all := settingsFile{map[string]setting{}, map[string]executorTable{}}
	for key, v := range raw {
		if table, ok := v.(map[string]any); ok && key == "executor" {
			if err := all.readExecutors(path, lines, table); err != nil {
				return none, err
			}
			continue
		}
		where := fmt.Sprintf("%s:%d: %s", path, lines.Of(tomlfile.Key(key)), key)
		if !slices.Contains(known, key) {
			nearest := ""
			if len(key) > 1 { // a single letter is near every short name
				nearest = suggest.DidYouMean(key, known)
			}
			return none, fmt.Errorf("%s: unknown key%s: want the long name of a flag", where, nearest)
		}
		s, err := settingValues(v)
		if err != nil {
			return none, fmt.Errorf("%s: %w", where, err)
		}
		_, list := v.([]any)
		all.flags[key] = setting{s, list, where}
	}
	return all, nil
}

// readExecutors reads the tables executor.NAME, and executor.default, the value of
// --executor.
func (s *settingsFile) readExecutors(path string, lines tomlfile.Lines, tables map[string]any) error {
	for name, v := range tables {
		where := func(key string) string {
			at := "executor." + tomlfile.Key(name)
			if key != "" {
				at += "." + tomlfile.Key(key)
			}
			return fmt.Sprintf("%s:%d: %s", path, lines.Of(at), at)
		}
		switch v := v.(type) {
		case map[string]any:
			s.executors[name] = executorTable{v, path, where}
		case string:
			if name == "default" {
				s.flags["executor"] = setting{[]string{v}, false, where("")}
				continue
			}
			return fmt.Errorf("%s: want a table, as in [executor.%s]", where(""), name)
		default:
			return fmt.Errorf("%s: want a table, as in [executor.%s]", where(""), name)
		}
	}
	return nil
}

// settingValues converts a TOML value to the texts that flags parse: one, or one for
// each element of a list.
func settingValues(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		return []string{v}, nil
	case int64, bool, float64:
		return []string{fmt.Sprint(v)}, nil
	case []any:
		values := []string{}
		for _, e := range v {
			s, err := settingValues(e)
			if _, nested := e.([]any); err != nil || nested {
				return nil, errors.New("want a list of strings, numbers or booleans")
			}
			values = append(values, s[0])
		}
		return values, nil
	}
	return nil, errors.New("want a string, a number, a boolean or a list of them")
}
