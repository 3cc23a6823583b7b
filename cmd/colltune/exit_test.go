package main

import (
	"os"
	"testing"
	"time"
)

// Two interrupts in quick succession are one; a later one is another. The test sets the
// clock.
func TestInterruptSentTwice(t *testing.T) {
	clock := func(after ...time.Duration) func() time.Time {
		begun := time.Now()
		return func() time.Time {
			at := begun.Add(after[0])
			after = after[1:]
			return at
		}
	}
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	signals <- os.Interrupt
	signals <- os.Interrupt
	if !secondInterrupt(signals, done, clock(0, time.Millisecond, repeatWindow)) || len(signals) != 0 {
		t.Errorf("the one sent twice and another: %d not looked at", len(signals))
	}
	close(done)
	if secondInterrupt(signals, done, clock(0)) {
		t.Error("another, where the command was done")
	}
}
