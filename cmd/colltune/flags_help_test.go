package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// The help of search lists every flag once, in groups, and fits the columns of a table.
func TestHelpInGroups(t *testing.T) {
	var out bytes.Buffer
	if code := Main([]string{"help", "search"}, strings.NewReader(""), &out, &out); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	_, usage, _ := strings.Cut(out.String(), "Usage:\n")
	last := -1
	for _, group := range append(searchFlags, flagGroup{name: "Other flags"}, flagGroup{name: "Global flags"}) {
		at := strings.Index(usage, "\n"+group.name+":\n")
		if at <= last {
			t.Errorf("no %q after the group before", group.name)
		}
		last = at
	}
	searchCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if n := strings.Count(usage, " --"+f.Name+" "); n != 1 {
			t.Errorf("--%s stands there %d times", f.Name, n)
		}
	})
	for line := range strings.Lines(usage) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWide {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
