package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var updateCommands = flag.Bool("update-commands", false, "write docs/reference/flags.md anew")

// docs/reference/flags.md lists every flag of every command, and no others.
func TestPageListsEveryFlag(t *testing.T) {
	const file = "../../docs/reference/flags.md"
	want := flagsPage()
	if *updateCommands {
		if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) == want {
		return
	}
	there, wanted := strings.Split(string(text), "\n"), strings.Split(want, "\n")
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

// flagsPage lists all commands' flags; what is the same of several commands stands once.
func flagsPage() string {
	type command struct {
		name string
		rows []flagRow
	}
	var all []command
	used := map[flagRow]int{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" {
			return
		}
		if rows := flagRows(c.LocalNonPersistentFlags()); len(rows) > 0 {
			all = append(all, command{c.CommandPath()[len("colltune "):], rows})
			for _, r := range rows {
				used[r]++
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	started := false
	root := newRoot(&started)
	for _, c := range commands { // as docs/commands.md lists them
		of := c()
		i := slices.IndexFunc(root.Commands(), func(sub *cobra.Command) bool { return sub.Name() == of.Name() })
		walk(root.Commands()[i])
	}

	shared := map[string]flagRow{} // of each name, what most commands have
	for _, r := range slices.SortedFunc(maps.Keys(used), func(a, b flagRow) int { return strings.Compare(a.text, b.text) }) {
		if used[r] > max(used[shared[r.long]], 1) {
			shared[r.long] = r
		}
	}
	var b strings.Builder
	b.WriteString("# Flags\n\n" +
		"All flags of all [commands](../commands.md), as `colltune help COMMAND` prints them, with defaults in brackets; `go test ./cmd/colltune -run TestPageListsEveryFlag -update-commands` writes this page. " +
		"Every command also has `-h, --help`; `-v, --verbose`, which prints more to standard error; `-q, --quiet`, which prints nothing there but the error that ends the command; and `--memory SIZE`, the most [memory](../commands.md#memory) that the command may use.\n\n" +
		"## Of several commands\n\n")
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		b.WriteString(shared[name].text)
	}
	for _, c := range all {
		var own, others []string
		for _, r := range c.rows {
			if shared[r.long] == r {
				others = append(others, "`--"+r.long+"`")
			} else {
				own = append(own, r.text)
			}
		}
		fmt.Fprintf(&b, "\n## %s\n", c.name)
		if len(own) > 0 {
			b.WriteString("\n" + strings.Join(own, ""))
		}
		if len(others) > 0 {
			fmt.Fprintf(&b, "\nOf several commands: %s.\n", strings.Join(others, ", "))
		}
	}
	return b.String()
}

// flagRow is a flag's line of the page.
type flagRow struct{ long, text string }

func flagRows(flags *pflag.FlagSet) (all []flagRow) {
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
		text := "- `" + name + "`"
		if byDefault := withoutFlag(f); byDefault != "" {
			text += " (" + byDefault + ")"
		}
		all = append(all, flagRow{f.Name, text + ": " + what + "\n"})
	})
	return all
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
