package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/ran"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results"
)

// A campaign is data, and may come from someone else. resume runs a program that
// campaign.toml or ./colltune.toml names only if this user has run it for this folder
// before (package ran), or names it on the command line. The user already trusts
// built-in executors, executors of the user's own settings, and plugins on PATH or in
// a typed --plugin-dir.

// executorOrigin says where the name of a resumed campaign's executor comes from.
type executorOrigin int

const (
	fromFiles       executorOrigin = iota // campaign.toml, or colltune.toml of the current folder
	fromUser                              // the environment or the user's own settings
	fromCommandLine                       // --executor on the command line
)

// campaignExecutor sets --executor to the executor of a campaign that is resumed, and
// returns where its name comes from. A typed name must be that of the campaign's
// executor. A name from settings is ignored if it is another.
func campaignExecutor(cmd *cobra.Command, c *results.Campaign) (executorOrigin, error) {
	planned := c.Plan().Executor
	dirs := pluginDirs(cmd)
	found, err := executor.Lookup(flagValue(cmd, "executor"), dirs...)
	same := err == nil && found.Name == planned
	if typed(cmd, "executor") {
		if p, perr := executor.Lookup(planned, dirs...); perr == nil && p.Name == found.Name {
			same = true // campaign.toml names it by its path
		}
		if err == nil && !same {
			err = usagef("--executor %s: the campaign was measured by %s", found.Name, planned)
		}
		return fromCommandLine, err
	}
	if same && fromLocalSettings(cmd, "executor") {
		return fromFiles, nil
	}
	if same {
		return fromUser, nil
	}
	name := planned
	for _, r := range ran.Runs(c.Dir()) {
		if r.Name == planned && r.Settings == "" && r.Unchanged() {
			name = r.Program
		}
	}
	return fromFiles, cmd.Flags().Set("executor", name)
}

// checkTrusted returns an error unless the user trusts the program that the campaign's
// executor runs.
func checkTrusted(cmd *cobra.Command, c *results.Campaign, origin executorOrigin) error {
	name := flagValue(cmd, "executor")
	r, err := executor.WouldRun(name, pluginDirs(cmd)...)
	if errors.Is(err, executor.ErrNotFound) && origin == fromFiles {
		return usagef("campaign %s was measured by %s: %w; if that is a program of yours, type: colltune resume %s --executor PATH",
			c.Dir(), name, err, safe.Path(c.Dir()))
	}
	if err != nil || origin == fromCommandLine || isUsersOwn(cmd, name, r, origin) || slices.Contains(ran.Runs(c.Dir()), ran.Of(r)) {
		return err
	}
	if strings.ContainsRune(name, filepath.Separator) || r.Configured == nil {
		name = r.Program
	}
	return usagef("campaign %s: its executor %s is not run: it is %s, named by %s, and you have not run it for this folder on this machine; if you trust it, type: colltune resume %s --executor %s",
		c.Dir(), r.Name, describeRuns(r), namedBy(cmd, c, r), safe.Path(c.Dir()), safe.Path(name))
}

// rememberExecutor records the program that is about to run for a campaign, and reports
// whether a later resume will run it without --executor.
func rememberExecutor(cmd *cobra.Command, c *results.Campaign) bool {
	name := flagValue(cmd, "executor")
	r, err := executor.WouldRun(name, pluginDirs(cmd)...)
	if err != nil || r.Program == "" && r.Configured == nil {
		return true
	}
	return ran.Remember(c.Dir(), ran.Of(r)) == nil || isUsersOwn(cmd, name, r, fromFiles)
}

// isUsersOwn reports whether the user, and not the campaign or ./colltune.toml, chose the
// program that an executor runs.
func isUsersOwn(cmd *cobra.Command, name string, r executor.Runs, origin executorOrigin) bool {
	switch {
	case r.Configured != nil:
		return r.Configured.From != localSettings
	case r.Program == "": // built in
		return true
	case strings.ContainsRune(name, filepath.Separator):
		return origin == fromUser
	}
	return !fromLocalPluginDir(cmd, r)
}

// fromLocalPluginDir reports whether a plugin is in a folder that only the plugin-dir of
// ./colltune.toml names.
func fromLocalPluginDir(cmd *cobra.Command, r executor.Runs) bool {
	if !fromLocalSettings(cmd, "plugin-dir") {
		return false
	}
	return slices.ContainsFunc(pluginDirs(cmd), func(dir string) bool {
		abs, err := filepath.Abs(dir)
		return err != nil || abs == filepath.Dir(r.Program)
	})
}

// describeRuns describes the program that starting an executor runs.
func describeRuns(r executor.Runs) string {
	how := "the program " + r.Program
	if c := r.Configured; c != nil {
		how = "an executor of kind " + c.Kind
		if r.Program != "" {
			how += " (" + r.Program + ")"
		}
		if len(c.Launcher) > 0 {
			how += " with the launcher " + strings.Join(c.Launcher, " ")
		}
		if len(c.Env) > 0 {
			how += " in the environment " + strings.Join(c.Env, " ")
		}
		for _, name := range executor.SettingsOf(c.Kind).Names {
			if v := c.Settings[name]; v != "" {
				how += fmt.Sprintf(", %s = %s", name, v)
			}
		}
	}
	return how
}

// namedBy returns the file that names an executor's program.
func namedBy(cmd *cobra.Command, c *results.Campaign, r executor.Runs) string {
	if r.Configured != nil || fromLocalSettings(cmd, "executor") || fromLocalPluginDir(cmd, r) {
		return localSettings
	}
	return filepath.Join(c.Dir(), "campaign.toml")
}
