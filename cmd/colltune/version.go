package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version says what this binary was built from.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a changed tree
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildVersion() version {
	v := version{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := buildVersion()
			commit := v.Commit
			if v.Modified {
				commit += " (modified)"
			}
			s := sheet{columns: []column{text("version"), text("commit"), text("go"), text("platform")}}
			s.add(v.Version, commit, v.Go, v.Platform)
			return emit(cmd, "version", v, s)
		},
	}
	outputFlags(cmd)
	return cmd
}
