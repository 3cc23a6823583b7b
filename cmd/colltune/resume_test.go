package main

import (
	"bytes"
	"io/fs"
	"os"
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

// So it does of a map; a campaign that is missing is an error there, too.
func TestResumeMapWhereNothingCanBeWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	var table, out, told bytes.Buffer
	search := []string{"search", "-t", "dgx-a100", "--gpus", "0,1,2", "--nodes", "1,2", "-c", "allgather", "-b", "1K", "-e", "1K", "--family", "ring", "--instances", "1", "--protocol", "LL", "--campaign", "m"}
	if code := Main(search, strings.NewReader(""), &table, &told); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &told)
	}
	resume := func() error {
		out.Reset()
		cmd := resumeCommand()
		cmd.SetOut(&out)
		cmd.SetErr(&told)
		cmd.SetContext(t.Context())
		return resumeMap(cmd, "m", func(dir string) (*results.Map, error) {
			return nil, &fs.PathError{Op: "open", Path: dir + "/lock", Err: syscall.EROFS}
		})
	}
	if err := resume(); err != nil || out.String() != table.String() {
		t.Errorf("%v, and printed\n%s\nwant\n%s", err, &out, &table)
	}
	if err := os.RemoveAll(results.MapMember("m", 2)); err != nil {
		t.Fatal(err)
	}
	if err := resume(); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "nodes-2: missing") {
		t.Errorf("%v", err)
	}
}
