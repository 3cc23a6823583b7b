package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor/serve"
	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/internal/memory"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/suggest"
)

func main() {
	dispatch(os.Args)
	memory.CollectLater()
	os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// dispatch runs this process as a child of colltune, such as an executor, if its
// arguments say so, and exits. Otherwise it returns.
func dispatch(args []string) {
	child.Dispatch(args)
	registerExecutors()
	serve.Dispatch(args)
}

// Main runs a command line, without the program's name, and returns its exit code
// (exit.go). Results go to stdout, everything else to stderr.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := withInterrupts(stderr)
	defer stop()
	started := false
	root := newRoot(&started)
	root.SetArgs(args)
	root.SetIn(stdin)
	out := &stickyWriter{to: stdout}
	printed, messages := safe.NewWriter(out).Colour(isTerminal(stdout) && os.Getenv("NO_COLOR") == ""), newStderr(stderr)
	root.SetOut(printed)
	root.SetErr(messages)
	ran, err := root.ExecuteContextC(ctx)
	_ = printed.Close() // out keeps the error
	if out.err != nil && (err == nil || !started) {
		err, started = out.err, true // of printing help, which cobra ignores
	}
	if err != nil && !started {
		// cobra itself refused a command, a flag or the number of arguments.
		err = usage(err)
	}
	if exitCode(err) == exitInterrupted && ran.Context() != nil {
		err = endError(ran.Context(), err)
	}
	code := exitCode(err)
	if err != nil && code != exitInterrupted { // withInterrupts has reported the interrupt
		fmt.Fprintln(messages, "colltune:", sanitize(strings.TrimRight(err.Error(), "\n")))
		if code == exitUsage {
			explainSetting(ran, err.Error(), messages)
		}
	}
	return code
}

// newRoot builds the tree of commands. It sets started when a command begins to run,
// after cobra has accepted its flags and arguments.
func newRoot(started *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "colltune",
		Short: "Find the fastest way to run a collective on a GPU system",
		Long: `colltune finds the fastest way to run a collective on a given GPU system.

  colltune search -t dgx-a100 -c allreduce
  colltune export campaigns/dgx-a100-1x-allreduce --to msccl-xml --out xml`,
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs,
		RunE:                       runGroup,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			*started = true
			if err := applySettings(cmd); err != nil {
				return err
			}
			if quiet(cmd) {
				if typed(cmd, "verbose") && verbose(cmd) {
					return usagef("--quiet and --verbose: want one of them")
				}
				cmd.Root().SetErr(io.Discard) // Main prints the error that ends the command
			}
			if err := limitMemory(cmd); err != nil {
				return err
			}
			if err := checkLook(cmd); err != nil {
				return err
			}
			return checkOutputPaths(cmd)
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().BoolP("verbose", "v", false, "print more to standard error")
	root.PersistentFlags().BoolP("quiet", "q", false, "print nothing to standard error but the error that ends the command")
	memoryFlag(root)
	root.Version = buildVersion().Version // --version
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = false
	for _, c := range commands {
		root.AddCommand(c())
	}
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, runGroup
		}
	}
	endAtInterrupt(root)
	return root
}

// helpCommand replaces cobra's help command, which accepts topics that do not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show what a command does and its flags",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return runGroup(about, rest)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range about.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, c.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// commands lists the subcommands in the order of the help.
var commands = []func() *cobra.Command{
	searchCommand,
	resumeCommand,
	resultsCommand,
	compareCommand,
	exportCommand,
	reportCommand,
	tableCommand,
	workloadCommand,
	compileCommand,
	verifyCommand,
	runCommand,
	synthCommand,
	topologyCommand,
	templateCommand,
	executorCommand,
	doctorCommand,
	versionCommand,
}

// runGroup is the RunE of a command that only has subcommands. It prints the help, and
// refuses arguments, which are not the name of a subcommand.
func runGroup(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if len(names) == 0 {
		return usagef("unknown command %q: %s has no subcommands", args[0], cmd.CommandPath())
	}
	return usagef("unknown command %q for %s%s: want one of %s", args[0], cmd.CommandPath(), suggest.DidYouMean(args[0], names), strings.Join(names, ", "))
}

func verbose(cmd *cobra.Command) bool {
	v, _ := cmd.Flags().GetBool("verbose")
	return v
}

// quiet reports whether --quiet is set. A typed --verbose overrides a --quiet that is
// not typed.
func quiet(cmd *cobra.Command) bool {
	q, _ := cmd.Flags().GetBool("quiet")
	return q && (typed(cmd, "quiet") || !typed(cmd, "verbose") || !verbose(cmd))
}

// someArgs checks that there is at least one argument, which errors call name.
func someArgs(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return exactArgs(name)(cmd, args[:min(len(args), 1)])
	}
}

// exactArgs checks the number of arguments. names are what errors call them.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		command := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") // without "colltune"
		switch {
		case len(args) < len(names):
			return usagef("%s: %s is missing; see %s --help", command, names[len(args)], cmd.CommandPath())
		case len(args) > len(names):
			return usagef("%s: unexpected argument %q; see %s --help", command, args[len(names)], cmd.CommandPath())
		}
		return nil
	}
}
