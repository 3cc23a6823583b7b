package memory

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestCollectLater holds the collector to its usual pace after its first collection.
func TestCollectLater(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	CollectLater()
	percent := func() int {
		p := debug.SetGCPercent(usualPercent)
		debug.SetGCPercent(p)
		return p
	}
	if p := percent(); p <= usualPercent {
		t.Errorf("before the first collection: GOGC %d, want more than %d", p, usualPercent)
	}
	for deadline := time.Now().Add(10 * time.Second); percent() != usualPercent; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("after collections: GOGC %d, want %d", percent(), usualPercent)
		}
	}
	debug.SetGCPercent(50)
	if CollectLater(); percent() != 50 {
		t.Errorf("of GOGC 50: %d", percent())
	}
}
