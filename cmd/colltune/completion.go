package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// completeTopology offers the catalogue and the generators; files too.
func completeTopology(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return append(topologies.Names(), generators...), cobra.ShellCompDirectiveDefault
}

// firstIs completes only the first argument.
func firstIs(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, prefix)
	}
}

// completeList completes the last of several names with commas between, by names
// that are not there yet.
func completeList(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, prefix string) (offers []string, _ cobra.ShellCompDirective) {
		before := prefix[:strings.LastIndex(prefix, ",")+1]
		for _, n := range names() {
			if !slices.Contains(strings.Split(before, ","), n) {
				offers = append(offers, before+n)
			}
		}
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

// paramFlag adds -p, whose names and values are those of the families in question.
func paramFlag(cmd *cobra.Command, verb string) {
	cmd.Flags().StringArrayP("param", "p", nil, verb+" a template parameter: `NAME=VALUE`")
	_ = cmd.RegisterFlagCompletionFunc("param", completeParam)
}

// completeParam offers the names of parameters and, after a name, its values;
// holes have none. The families are the argument's, or --family's, or all.
func completeParam(cmd *cobra.Command, args []string, prefix string) (offers []string, _ cobra.ShellCompDirective) {
	asked, _ := cmd.Flags().GetStringSlice("family")
	if cmd.Name() == "compile" {
		asked = args
	}
	name, _, named := strings.Cut(prefix, "=")
	for _, f := range templates.Builtin() {
		if len(asked) > 0 && !slices.Contains(asked, f.Name) {
			continue
		}
		for _, p := range f.Parameters {
			switch {
			case !named:
				offers = append(offers, p.Name+"=")
			case p.Name == name:
				for _, v := range p.Values {
					offers = append(offers, name+"="+script.FormatValue(v))
				}
			}
		}
	}
	slices.Sort(offers)
	if named {
		return slices.Compact(offers), cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Compact(offers), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFolder completes the names of folders.
func completeFolder(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeFamily offers the families' names; files too.
func completeFamily(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return familyNames(), cobra.ShellCompDirectiveDefault
}

func familyNames() (names []string) {
	for _, f := range templates.Builtin() {
		names = append(names, f.Name)
	}
	return names
}

func completeExecutor(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	var names []string
	for _, f := range executor.List(dirs...) {
		names = append(names, f.Name)
	}
	return names, cobra.ShellCompDirectiveDefault
}
