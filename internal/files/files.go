package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// maxBlanks is the longest run of blanks that is read, in bytes.
const maxBlanks = 1 << 20

// Open opens a regular file for reading. A folder, a pipe, a socket or a device is
// refused with an error before it is opened: opening a pipe without a writer would never
// return. Descriptors that this process was started with are open already, so
// their names, such as /dev/stdin, are accepted whatever they are. Errors do not contain
// the path.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path) // before it is opened
	switch {
	case err != nil:
		return nil, plain(err)
	case info.IsDir():
		return nil, errors.New("is a folder: want a file")
	case !info.Mode().IsRegular() && !isDescriptor(path):
		return nil, fmt.Errorf("is %s: want a regular file", kind(info.Mode()))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	return f, nil
}

// Read opens a file as Open does and reads all of it, at most the given number of
// bytes. Errors are those of Open and ReadAll.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	if size > most {
		return nil, tooLong(size, most)
	}
	text, err := ReadAll(f, most, size)
	if err != nil {
		return nil, plain(err)
	}
	return text, nil
}

// ReadAll reads text of at most the given number of bytes to its end. size is the
// expected number, or 0. It returns an error at once for a longer text, a byte 0, as in
// a disk or an archive, and more than a megabyte of blanks.
func ReadAll(from io.Reader, most, size int64) ([]byte, error) {
	text := make([]byte, 0, max(size+1, 512)) // one more, to see the end
	for blanks := 0; ; {
		if len(text) == cap(text) {
			text = append(text, 0)[:len(text)]
		}
		room := text[len(text):min(cap(text), len(text)+64<<10)]
		n, err := from.Read(room)
		text = text[:len(text)+n]
		if i := bytes.IndexByte(room[:n], 0); i >= 0 {
			return nil, fmt.Errorf("is no text: a byte 0 on line %d", 1+bytes.Count(text[:len(text)-n+i], []byte("\n")))
		}
		if blanks = trailing(room[:n], blanks); blanks > maxBlanks {
			return nil, fmt.Errorf("more than %v of nothing but blanks from byte %d on", units.Bytes(maxBlanks), len(text)-blanks)
		}
		switch {
		case int64(len(text)) > most:
			return nil, fmt.Errorf("more than %d bytes", most)
		case err == io.EOF:
			return text, nil
		case err != nil:
			return nil, err
		}
	}
}

// TrimMark returns text without the byte order mark that programs of Windows put before it.
func TrimMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// trailing is how many blanks end a text whose part before b ended with some.
func trailing(b []byte, before int) int {
	rest := bytes.TrimRight(b, " \t\r\n")
	if len(rest) == 0 {
		return before + len(b)
	}
	return len(b) - len(rest)
}

func tooLong(size, most int64) error {
	return fmt.Errorf("%d bytes: want at most %d", size, most)
}

// isDescriptor reports whether a path names a descriptor of this process.
func isDescriptor(path string) bool {
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// kind names a type of file that is not a regular one.
func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// plain is an error without the path and the name of the system call.
func plain(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return at.Err
	}
	return err
}
