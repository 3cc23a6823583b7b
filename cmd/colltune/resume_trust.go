package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results"
)

// A campaign is data, and may be another's. What resume would run because
// campaign.toml or ./colltune.toml names it is run only if this user has run it for
// this folder before (ran.go), or names it on the command line. The built-in
// executors, those of the user's own settings, and plugins on PATH or in a folder
// that the user gives are the user's already.

// executorOrigin is who named the executor of a campaign that is resumed.
type executorOrigin int

const (
	fromFiles       executorOrigin = iota // campaign.toml, or colltune.toml of the current folder
	fromUser                              // the environment or the user's own settings
	fromCommandLine                       // --executor on the command line
)

// campaignExecutor sets --executor to the executor of a campaign that is resumed,
// and returns who named it. A name that is given must be that of the campaign's
// executor; one that only settings give is otherwise not meant for this campaign.
func campaignExecutor(cmd *cobra.Command, c *results.Campaign) (executorOrigin, error) {
	planned := c.Plan().Executor
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	found, err := executor.Lookup(flagValue(cmd, "executor"), dirs...)
	same := err == nil && found.Name == planned
	if typed(cmd, "executor") {
		if as, asked := executor.Lookup(planned, dirs...); asked == nil && as.Name == found.Name {
			same = true // campaign.toml has its path
		}
		if err == nil && !same {
			err = usagef("--executor %s: the campaign's trials are %s's", found.Name, planned)
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
	for _, r := range pastRuns(c.Dir()) {
		if r.Name == planned && r.Settings == "" && r.unchanged() {
			name = r.Program
		}
	}
	return fromFiles, cmd.Flags().Set("executor", name)
}

// checkTrusted is an error unless the executor of a campaign, named by by, may be run.
func checkTrusted(cmd *cobra.Command, c *results.Campaign, by executorOrigin) error {
	name := flagValue(cmd, "executor")
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	r, err := executor.WouldRun(name, dirs...)
	if errors.Is(err, executor.ErrNotFound) && by == fromFiles {
		return usagef("campaign %s was measured by %s: %w; if that is a program of yours, type: colltune resume %s --executor PATH",
			c.Dir(), name, err, safe.Path(c.Dir()))
	}
	if err != nil || by == fromCommandLine || isUsersOwn(cmd, name, r, by) || slices.Contains(pastRuns(c.Dir()), pastRunOf(r)) {
		return err
	}
	if strings.ContainsRune(name, filepath.Separator) || r.Configured == nil {
		name = r.Program
	}
	return usagef("campaign %s: its executor %s is not run: it is %s, named by %s, and you have not run it for this folder on this machine; if you trust it, type: colltune resume %s --executor %s",
		c.Dir(), r.Name, describeRuns(r), namedBy(cmd, c, r), safe.Path(c.Dir()), safe.Path(name))
}

// rememberExecutor remembers what is about to be run for a campaign, for a later resume. It
// reports whether resume will run it without being asked to by name.
func rememberExecutor(cmd *cobra.Command, c *results.Campaign) bool {
	name := flagValue(cmd, "executor")
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	r, err := executor.WouldRun(name, dirs...)
	if err != nil || r.Program == "" && r.Configured == nil {
		return true
	}
	return remember(c.Dir(), pastRunOf(r)) == nil || isUsersOwn(cmd, name, r, fromFiles)
}

// isUsersOwn reports whether what an executor runs is the user's own, rather than named
// by a campaign or by the settings of the current folder.
func isUsersOwn(cmd *cobra.Command, name string, r executor.Runs, by executorOrigin) bool {
	switch {
	case r.Configured != nil:
		return r.Configured.From != localSettings
	case r.Program == "": // built in
		return true
	case strings.ContainsRune(name, filepath.Separator):
		return by == fromUser
	}
	return !fromLocalPluginDir(cmd, r)
}

// fromLocalPluginDir reports whether a plugin lies in a folder that only the settings of the
// current folder have colltune look through.
func fromLocalPluginDir(cmd *cobra.Command, r executor.Runs) bool {
	if !fromLocalSettings(cmd, "plugin-dir") {
		return false
	}
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	return slices.ContainsFunc(dirs, func(dir string) bool {
		abs, err := filepath.Abs(dir)
		return err != nil || abs == filepath.Dir(r.Program)
	})
}

// describeRuns says in words what starting an executor runs.
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

// namedBy is the file that an executor's program was named by.
func namedBy(cmd *cobra.Command, c *results.Campaign, r executor.Runs) string {
	if r.Configured != nil || fromLocalSettings(cmd, "executor") || fromLocalPluginDir(cmd, r) {
		return localSettings
	}
	return filepath.Join(c.Dir(), "campaign.toml")
}
