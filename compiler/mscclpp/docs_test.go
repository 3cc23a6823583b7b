package mscclpp

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocument holds docs/runtimes.md against the limits here.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/runtimes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		what string
		most int
	}{
		{"operations in a threadblock, those in pipelines included", MaxOperations},
		{"channels of a threadblock, of a type; remote buffers likewise", MaxChannels},
		{"channels of an operation", MaxOpChannels},
		{"sources of an operation, destinations likewise", MaxOpPlaces},
		{"barriers of a GPU", MaxBarriers},
		{"semaphores of an operation", MaxSemaphores},
		{"threads in a threadblock", MaxThreads},
	} {
		if line := fmt.Sprintf("| %s | %d |\n", row.what, row.most); !strings.Contains(string(text), line) {
			t.Errorf("no line %q", line)
		}
	}
	for _, number := range []string{fmt.Sprintf("more than %d passes", maxPasses), "More than 4,096 ranks"} {
		if !strings.Contains(string(text), number) {
			t.Errorf("no %q", number)
		}
	}
}
