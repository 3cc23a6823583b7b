package suggest

import (
	"strings"
	"testing"
)

func TestDidYouMean(t *testing.T) {
	commands := []string{"search", "resume", "results", "export"}
	families := []string{"ring", "all-pairs", "two-step"}
	for _, c := range []struct {
		name  string
		names []string
		want  string
	}{
		{"serach", commands, "search"},
		{"result", commands, "results"},
		{"Search", commands, "search"},
		{"zzz", commands, ""},
		{"", commands, ""},
		{strings.Repeat("x", 1000), commands, ""},
		{"rnig", families, "ring"},
		{"allpairs", families, "all-pairs"},
		{"two-stpe", families, "two-step"},
		{"tree", families, ""},
		{"x", families, ""},
		{"ring", nil, ""},
	} {
		want := ""
		if c.want != "" {
			want = " (did you mean " + c.want + "?)"
		}
		if got := DidYouMean(c.name, c.names); got != want {
			t.Errorf("%.10s: %q, want %q", c.name, got, want)
		}
	}
}
