package main

import (
	"github.com/spf13/cobra"

	"github.com/colltune/colltune/topologies"
)

// generators start the names of generated systems, for completion.
var generators = []string{"ring:", "mesh:", "torus:", "hypercube:", "fullmesh:", "hub:"}

// completeTopology offers the catalogue and the generators; files too.
func completeTopology(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return append(topologies.Names(), generators...), cobra.ShellCompDirectiveDefault
}

// firstIs completes the first argument only.
func firstIs(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, prefix)
	}
}
