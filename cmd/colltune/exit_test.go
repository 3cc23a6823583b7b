package main

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/spf13/cobra"
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

// An interrupt ends every command that has nothing to save, whatever it is doing; one that
// saves ends when it has.
func TestInterruptEndsCommands(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"workload", "x"}, exitInterrupted},
		{[]string{"table", "export"}, exitInterrupted},
		{[]string{"search"}, exitWrong},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		root := &cobra.Command{Use: "colltune", SilenceErrors: true, SilenceUsage: true}
		table := &cobra.Command{Use: "table"}
		root.AddCommand(table)
		forever := make(chan bool)
		saved := make(chan bool)
		busy := func(*cobra.Command, []string) error {
			interrupt()
			<-forever
			return nil
		}
		saves := func(*cobra.Command, []string) error {
			interrupt()
			<-ctx.Done()
			<-saved
			return &wrongError{errors.New("what it found while it saved")}
		}
		root.AddCommand(&cobra.Command{Use: "workload", RunE: busy}, &cobra.Command{Use: "search", RunE: saves})
		table.AddCommand(&cobra.Command{Use: "export", RunE: busy})
		endAtInterrupt(root)
		time.AfterFunc(2*abandonTime, func() { close(saved) })
		root.SetArgs(c.args)
		root.SetOut(io.Discard)
		if got := exitCode(root.ExecuteContext(ctx)); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.args, got, c.want)
		}
	}
}
