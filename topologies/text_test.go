package topologies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The text of a topology is only parsed: no file is opened and no name looked up,
// whatever the text looks like.
func TestTextIsNeverAPath(t *testing.T) {
	dir := t.TempDir()
	text, _ := Source("dgx-1")
	file := filepath.Join(dir, "mine.toml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, s := range []string{file, "mine.toml", "./mine.toml", "mine.toml\n", "dgx-1", "dgx-a100", "", "/dev/stdin", "file:mine.toml", "nope:8"} {
		if _, err := FromText("campaign.toml: topology", s, Options{}); err == nil || !strings.Contains(err.Error(), "campaign.toml: topology") {
			t.Errorf("%q: %v: want an error of a text", s, err)
		}
	}
	for _, s := range []string{string(text), "ring:8", "mesh:2x2@25GB/s,1us"} {
		if _, err := FromText("x", s, Options{}); err != nil {
			t.Errorf("%.20q: %v", s, err)
		}
	}
}
