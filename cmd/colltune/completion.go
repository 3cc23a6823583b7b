package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// completeTopology offers the catalogue and the generators; files too.
func completeTopology(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return append(topologies.Names(), generators...), cobra.ShellCompDirectiveDefault
}

// firstArg completes only the first argument.
func firstArg(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, prefix)
	}
}

// completeList completes the last of names that are separated by commas, with those
// that are not in the list yet.
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

// paramFlag adds -p. verb says what the command does with the parameter.
func paramFlag(cmd *cobra.Command, verb string) {
	cmd.Flags().StringArrayP("param", "p", nil, verb+" a template parameter: `NAME=VALUE`")
	_ = cmd.RegisterFlagCompletionFunc("param", completeParam)
}

// completeParam offers the names of parameters and, after NAME=, its values; holes have
// none. The families are those of the argument or of --family, otherwise all.
func completeParam(cmd *cobra.Command, args []string, prefix string) (offers []string, _ cobra.ShellCompDirective) {
	wanted, _ := cmd.Flags().GetStringSlice("family")
	if cmd.Name() == "compile" {
		wanted = args
	}
	name, _, named := strings.Cut(prefix, "=")
	for _, f := range templates.Builtin() {
		if len(wanted) > 0 && !slices.Contains(wanted, f.Name) {
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

func completeFolder(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeFamily offers the families' names; files too.
func completeFamily(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return familyNames(), cobra.ShellCompDirectiveDefault
}

// familyNames returns the names of the built-in families.
func familyNames() []string {
	return lists.Map(templates.Builtin(), func(f *templates.Family) string { return f.Name })
}

// completeExecutor offers the executors that executor list shows; files too.
func completeExecutor(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, f := range executor.List(pluginDirs(cmd)...) {
		names = append(names, f.Name)
	}
	return names, cobra.ShellCompDirectiveDefault
}
