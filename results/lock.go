package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/colltune/colltune/internal/filelock"
)

// LockedError reports that another process writes to the campaign, or the map.
type LockedError struct {
	Dir    string
	Holder string // as the holder named itself: "process 4711 on node17"
}

// Error names the folder and the holder.
func (e *LockedError) Error() string {
	return fmt.Sprintf("%s: in use by %s", e.Dir, e.Holder)
}

// lock takes the folder's lock, or says who has it. The kernel releases a lock
// when its holder ends, however it ends; the text in the file is only for people.
// Go opens files close-on-exec, so no child process keeps the lock, except for the
// moment between fork and exec. So where the holder is gone, that moment is waited
// for.
func lock(folder *os.Root) (*os.File, error) {
	f, err := openRegular(folder, lockFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if err = filelock.Try(f); !errors.Is(err, filelock.ErrHeld) {
			break
		}
		if holder := holderOf(f); !hasExited(holder) || time.Since(start) > forkGrace {
			f.Close()
			return nil, &LockedError{Dir: folder.Name(), Holder: holder}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if !isLock(f) {
		f.Close()
		return nil, fmt.Errorf("%s: colltune did not write this: move it, or give the campaign another folder", f.Name())
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	line := fmt.Sprintf("process %d on %s\n", os.Getpid(), host)
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(line), 0)
	}
	if err != nil {
		_ = folder.Remove(lockFile) // on a full disk it may be all that is there
		f.Close()
		return nil, err
	}
	return f, nil
}

// lockJournal takes the lock of the journal itself, because the file lock may have
// been deleted under a search that goes on.
func lockJournal(folder *os.Root, f *os.File) error {
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := filelock.Try(f)
		if !errors.Is(err, filelock.ErrHeld) {
			return err
		}
		if time.Since(start) > forkGrace {
			return &LockedError{Dir: folder.Name(), Holder: "another process, whose file lock was deleted"}
		}
	}
}

// forkGrace is how long a process may keep the lock of a killed one that was just
// starting it.
var forkGrace = 5 * time.Second

// isLock reports whether a file is a lock file, or empty. A system crash leaves zeros
// in place of unwritten bytes.
func isLock(f *os.File) bool {
	const first = "process "
	text := make([]byte, 512)
	n, err := f.ReadAt(text, 0)
	holder := strings.TrimRight(string(text[:n]), "\x00")
	return errors.Is(err, io.EOF) && (strings.HasPrefix(holder, first) || strings.HasPrefix(first, holder))
}

// holderOf returns what a lock file says about its holder.
func holderOf(f *os.File) string {
	text := make([]byte, 256)
	n, _ := f.ReadAt(text, 0)
	holder := strings.TrimSpace(strings.ToValidUTF8(string(text[:n]), "?"))
	if holder == "" {
		return "another process"
	}
	return holder
}

// hasExited reports whether the holder was a process of this machine that has ended.
func hasExited(holder string) bool {
	host, err := os.Hostname()
	var pid int
	var on string
	if n, _ := fmt.Sscanf(holder, "process %d on %s", &pid, &on); n != 2 || err != nil || on != host || pid < 1 {
		return false
	}
	return filelock.Ended(pid)
}
