package main

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/lazyregexp"
)

// version describes the source and the build of this binary.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a changed tree
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// buildVersion returns the version of this binary.
func buildVersion() version {
	v := version{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.built(info)
	}
	return v
}

// pseudoVersion matches the end of a version that Go derives from a commit: its time,
// the first digits of its hash, and +dirty if the tree had changes.
var pseudoVersion = lazyregexp.New(`[.-][0-9]{14}-([0-9a-f]{12})(?:\+dirty)?$`)

// built adds the build's information. go run and go test record none; a build in a
// checkout records the commit, and a build of a downloaded module its version.
func (v *version) built(info *debug.BuildInfo) {
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version, v.Modified = m, strings.HasSuffix(m, "+dirty")
	}
	if m := pseudoVersion().FindStringSubmatch(v.Version); m != nil {
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
