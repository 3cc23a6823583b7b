package main

import (
	"bytes"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/colltune/colltune/results"
)

// In a read-only folder, resume prints a finished campaign; for an unfinished one it
// ends with the exit code of an unwritable folder.
func TestResumeWhereNothingCanBeWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	search := []string{"search", "-t", "ring:4", "-c", "allreduce", "-b", "1K", "-e", "1K", "--family", "ring", "--instances", "1", "--protocol", "LL"}
	for _, c := range []struct {
		campaign string
		more     []string
		code     int
	}{
		{"finished", nil, exitDone},
		{"unfinished", []string{"--trials", "1"}, exitFailed},
	} {
		var table, out, told bytes.Buffer
		if code := Main(append(append(search, "--campaign", c.campaign), c.more...), strings.NewReader(""), &table, &told); code != exitDone && code != exitLimit {
			t.Fatalf("%s: exit code %d: %s", c.campaign, code, &told)
		}
		for _, why := range []error{syscall.EROFS, syscall.EACCES} {
			out.Reset()
			cmd := resumeCommand()
			cmd.SetOut(&out)
			cmd.SetErr(&told)
			cmd.SetContext(t.Context())
			if err := cmd.ParseFlags(nil); err != nil {
				t.Fatal(err)
			}
			err := resume(cmd, c.campaign, func(dir string) (*results.Campaign, error) {
				return nil, &fs.PathError{Op: "open", Path: dir + "/lock", Err: why}
			})
			if code := exitCode(err); code != c.code {
				t.Errorf("%s, %v: exit code %d, want %d: %v", c.campaign, why, code, c.code, err)
			}
			if c.code == exitDone && out.String() != table.String() {
				t.Errorf("%s, %v: printed\n%s\nwant\n%s", c.campaign, why, &out, &table)
			}
		}
	}
}
