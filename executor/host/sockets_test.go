package host

import (
	"errors"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	plugin "github.com/hashicorp/go-plugin"

	"github.com/colltune/colltune/internal/filetest"
)

// shortDir returns a folder with a path short enough for a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ct")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func socketAt(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

// A folder that only looks like a host's is not removed, however old it is, and neither
// is a user's file in a real one.
func TestForeignFoldersStay(t *testing.T) {
	root, outside := shortDir(t), shortDir(t)
	plant := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	// A finished campaign, and what else users call so.
	plant("colltune-2026/campaign.toml", "schema = \"colltune.campaign/v1\"\n")
	plant("colltune-2026/trials.jsonl", "{}\n")
	plant("colltune-2026/lock", "process 4711 on node17\n")
	plant("colltune-8gpus/thesis/chapter", "three years")
	plant("colltune-8/thesis/chapter", "three years")
	plant("colltune-9/lock", "") // of an earlier version
	plant("colltune-10", "a file")
	if err := os.Mkdir(filepath.Join(root, "colltune-11"), 0o700); err != nil {
		t.Fatal(err)
	}
	// Almost a mark.
	plant("colltune-12/"+markFile, socketMark+"and more")
	plant("colltune-13/"+markFile, socketMark[:len(socketMark)-1])
	plant("colltune-14/"+markFile, strings.ToUpper(socketMark))
	plant("colltune-15/mark", socketMark)
	plant("colltune-x/"+markFile, socketMark)
	if err := os.Symlink(filepath.Join(root, "colltune-15", "mark"), filepath.Join(root, "colltune-15", markFile)); err != nil {
		t.Fatal(err)
	}
	// Real ones, with something foreign in each.
	for _, path := range []string{"colltune-20/thesis", "colltune-21/plugin-dir1/thesis", "colltune-22/plugin-dir1/plugin1", "colltune-23/plugin-dirs/x", "colltune-24/plugin1", "colltune-25/plugin-dir1/sub/plugin1"} {
		plant(path, "three years")
		plant(strings.SplitAfter(path, "/")[0]+markFile, socketMark)
	}
	plant("colltune-26/"+markFile, socketMark)
	socketAt(t, filepath.Join(root, "colltune-26", "of-a-user"))
	// A link in the place of each thing that we make.
	dead := filepath.Join(outside, "dead")
	if err := errors.Join(os.MkdirAll(filepath.Join(dead, "plugin-dir1"), 0o700), os.WriteFile(filepath.Join(dead, markFile), []byte(socketMark), 0o600)); err != nil {
		t.Fatal(err)
	}
	socketAt(t, filepath.Join(dead, "plugin-dir1", "plugin1"))
	plant("colltune-31/"+markFile, socketMark)
	for link, to := range map[string]string{
		"colltune-30":             dead,
		"colltune-31/plugin-dir1": filepath.Join(dead, "plugin-dir1"),
		"colltune-31/s":           filepath.Join(dead, "plugin-dir1", "plugin1"),
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-1000 * time.Hour)
	for path := range filetest.Tree(t, root) {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSymlink {
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	before, away := filetest.Tree(t, root), filetest.Tree(t, outside)

	s, err := newSockets(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	for path := range before { // as an executor that is told so
		t.Setenv(plugin.EnvUnixSocketDir, filepath.Join(path, "plugin-dir1"))
		RemoveSockets()
	}
	after := filetest.Tree(t, root)
	if !maps.Equal(before, after) {
		for path, text := range before {
			if after[path] != text {
				t.Errorf("%s held %q, and holds %q", path, text, after[path])
			}
		}
		t.Errorf("before %d entries, now %d", len(before), len(after))
	}
	if now := filetest.Tree(t, outside); !maps.Equal(away, now) {
		t.Errorf("where links lead: %v, and before %v", now, away)
	}
}

// The folder of a killed host is removed by the next: with a socket, or with the empty file
// that was to become one. An empty folder without a mark stays.
func TestKilledHostsFoldersGo(t *testing.T) {
	root := shortDir(t)
	for i := range 3 {
		s, err := newSockets(root)
		if err != nil {
			t.Fatal(err)
		}
		run, err := os.MkdirTemp(s.dir, "plugin-dir")
		if err != nil {
			t.Fatal(err)
		}
		switch i {
		case 1:
			socketAt(t, filepath.Join(run, "plugin17"))
			socketAt(t, filepath.Join(run, "python")) // executors name them as they like
		case 2:
			if err := os.WriteFile(filepath.Join(run, "plugin17"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.lock.Close() // as the end of its process does
	}
	s, err := newSockets(root)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(root); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(root); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// A host that closes its folder while others sweep what is abandoned meets no error,
// whoever removes which entry first.
func TestClosedWhileOthersSweep(t *testing.T) {
	root := shortDir(t)
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for range 300 {
				s, err := newSockets(root)
				if err == nil {
					err = s.close()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	others.Wait()
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("%v left, %v", left, err)
	}
}
