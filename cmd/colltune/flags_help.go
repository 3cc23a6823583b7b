package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWide is the number of columns of a command's help, that of its tables.
const helpWide = 98

// groupOf is the annotation of a flag that stands in a group of its command's help.
const groupOf = "colltune_group"

// flagGroup is a group of flags, and what adds them.
type flagGroup struct {
	name string
	add  func(*cobra.Command)
}

// groupFlags puts the flags that add adds to a command into a group of its help.
func groupFlags(cmd *cobra.Command, group string, add func()) {
	add()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[groupOf] == nil {
			_ = cmd.Flags().SetAnnotation(f.Name, groupOf, []string{group})
		}
	})
}

// groupedUsage makes a command's help list its flags by group, in the order in which the groups
// were made, those without one last.
func groupedUsage(cmd *cobra.Command, groups ...string) {
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		out := c.OutOrStderr()
		fmt.Fprintf(out, "Usage:\n  %s\n", c.UseLine())
		for _, group := range append(slices.Clone(groups), "") {
			some := pflag.NewFlagSet("", pflag.ContinueOnError)
			c.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if strings.Join(f.Annotations[groupOf], "") == group {
					some.AddFlag(f)
				}
			})
			if group == "" {
				group = "Other flags"
			}
			fmt.Fprintf(out, "\n%s:\n%s", group, some.FlagUsagesWrapped(helpWide))
		}
		_, err := fmt.Fprintf(out, "\nGlobal flags:\n%s", c.InheritedFlags().FlagUsagesWrapped(helpWide))
		return err
	})
}
