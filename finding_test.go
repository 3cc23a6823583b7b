package colltune

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// place is a row of docs/finding.md: what is looked for, a file, and what to look
// for there.
var place = regexp.MustCompile("(?m)^\\| ([^|`]+) \\| `([^`]+)` \\| `([^`]+)` \\|$")

// TestFindingLeadsToCode looks for every place of docs/finding.md.
func TestFindingLeadsToCode(t *testing.T) {
	page := read(t, "docs/finding.md")
	places := place.FindAllStringSubmatch(page, -1)
	if rows := strings.Count(page, "\n| ") - 1; len(places) != rows || rows < 10 {
		t.Fatalf("docs/finding.md has %d places in %d rows: want each row to be one", len(places), rows)
	}
	for _, p := range places {
		text, err := os.ReadFile(p[2])
		if err != nil {
			t.Errorf("%s: %v", p[1], err)
		} else if !strings.Contains(string(text), p[3]) {
			t.Errorf("%s: %s has no %s", p[1], p[2], p[3])
		}
	}
}
