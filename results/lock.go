package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// LockedError says that another process writes to the campaign.
type LockedError struct {
	Dir    string
	Holder string // as the holder named itself: "process 4711 on node17"
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("campaign %s: in use by %s", e.Dir, e.Holder)
}

// lock takes the folder's lock, or says who has it. The kernel drops a lock
// with its holder, however that ends: what the file says is for people only.
// Go opens files close-on-exec, so no child keeps the lock alive.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			text, _ := io.ReadAll(io.LimitReader(f, 256))
			holder := strings.TrimSpace(strings.ToValidUTF8(string(text), "?"))
			if holder == "" {
				holder = "another process"
			}
			return nil, &LockedError{Dir: dir, Holder: holder}
		}
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	line := fmt.Sprintf("process %d on %s\n", os.Getpid(), host)
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(line), 0)
		if err != nil {
			f.Close()
			return nil, err
		}
	} else {
		f.Close()
		return nil, err
	}
	return f, nil
}
