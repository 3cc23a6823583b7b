package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var updateCommands = flag.Bool("update-commands", false, "write the flags in docs/commands.md anew")

// flagsOfPage is the part of docs/commands.md that lists the flags.
var flagsOfPage = regexp.MustCompile(`(?s)<!-- flags -->\n(.*)<!-- end of flags -->\n`)

// docs/commands.md lists every flag of every command, and no others.
func TestPageListsEveryFlag(t *testing.T) {
	const file = "../../docs/commands.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := flagsOfPage.FindSubmatch(text)
	if page == nil {
		t.Fatalf("%s has no part with the flags", file)
	}
	want := allFlags()
	if string(page[1]) == want {
		return
	}
	if *updateCommands {
		now := flagsOfPage.ReplaceAllLiteral(text, []byte("<!-- flags -->\n"+want+"<!-- end of flags -->\n"))
		if err := os.WriteFile(file, now, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	there, wanted := strings.Split(string(page[1]), "\n"), strings.Split(want, "\n")
	for _, line := range wanted {
		if !slices.Contains(there, line) {
			t.Errorf("missing: %s", line)
		}
	}
	for _, line := range there {
		if !slices.Contains(wanted, line) {
			t.Errorf("of nothing there is: %s", line)
		}
	}
	t.Errorf("%s is not the page of these flags: go test -update-commands writes them anew", file)
}

// allFlags are the tables of all commands' flags.
func allFlags() string {
	started := false
	root := newRoot(&started)
	var b strings.Builder
	b.WriteString("Every command also has `-h, --help`; `-v, --verbose`, which prints more to standard error; `-q, --quiet`, which prints nothing there but the error that ends the command; and `--memory SIZE`, the most [memory](#memory) that the command may use.\n")
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" {
			return
		}
		if rows := flagRows(c.LocalNonPersistentFlags()); rows != "" {
			fmt.Fprintf(&b, "\n### %s\n\n| flag | default | what it is |\n|---|---|---|\n%s", c.CommandPath()[len("colltune "):], rows)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	for _, c := range commands { // as they are listed above
		of := c()
		i := slices.IndexFunc(root.Commands(), func(sub *cobra.Command) bool { return sub.Name() == of.Name() })
		walk(root.Commands()[i])
	}
	return b.String()
}

func flagRows(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, what := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + kind
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, withoutFlag(f), strings.ReplaceAll(what, "|", `\|`))
	})
	return b.String()
}

// withoutFlag returns a flag's default, "" if it has none.
func withoutFlag(f *pflag.Flag) string {
	switch {
	case f.Name == "jobs":
		return "the machine's cores"
	case slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue):
		return ""
	}
	return "`" + f.DefValue + "`"
}
