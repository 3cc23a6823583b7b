package main

import (
	"cmp"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

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
	if info, ok := debug.ReadBuildInfo(); ok {
		v.built(info)
	}
	return v
}

// pseudoVersion is the end of a version that Go makes of a commit: its time, the
// first digits of its hash, and +dirty where the tree had changes.
var pseudoVersion = regexp.MustCompile(`[.-][0-9]{14}-([0-9a-f]{12})(?:\+dirty)?$`)

// built adds what a build says of itself. go run and go test say nothing; a build
// in a checkout has the commit, and one of a module from elsewhere its version.
func (v *version) built(info *debug.BuildInfo) {
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version, v.Modified = m, strings.HasSuffix(m, "+dirty")
	}
	if m := pseudoVersion.FindStringSubmatch(v.Version); m != nil {
		v.Commit = m[1]
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
}

func versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := buildVersion()
			commit := cmp.Or(v.Commit, "unknown")
			if v.Modified {
				commit += " (modified)"
			}
			s := sheet{columns: []column{text("version"), text("commit"), text("go"), text("platform")}}
			s.add(v.Version, commit, v.Go, v.Platform)
			return printResult(cmd, "version", v, s)
		},
	}
	outputFlags(cmd)
	return cmd
}
