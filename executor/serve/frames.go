package serve

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// A launcher joins the standard streams of a remote process to ours, and may add to them:
// the login shell's greeting, warnings, a label before each line. So the connection is sent
// as marked lines of text, numbered so that a lost one is noticed:
//
//	colltune-frame 0 eyJwcm90b2NvbCI6MX0
//	colltune-frame 1 UFJJICogSFRUUC8yLjAN…

const frameMark = "colltune-frame "

// frameBytes is the most payload of a frame: its line must fit the reader's buffer.
const frameBytes = 24 << 10

type frameWriter struct {
	mu   sync.Mutex
	to   io.Writer
	next uint64
	line []byte
}

func (w *frameWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for len(p) > 0 {
		part := p[:min(len(p), frameBytes)]
		// The first newline ends a line that another writer may have begun.
		w.line = append(w.line[:0], "\n"+frameMark...)
		w.line = strconv.AppendUint(w.line, w.next, 10)
		w.line = append(w.line, ' ')
		w.line = base64.RawStdEncoding.AppendEncode(w.line, part)
		w.line = append(w.line, '\n')
		if _, err := w.to.Write(w.line); err != nil {
			return n, err
		}
		w.next++
		n += len(part)
		p = p[len(part):]
	}
	return n, nil
}

// frameReader reads what a frameWriter wrote, and copies everything else to noise.
type frameReader struct {
	from  *bufio.Reader
	noise io.Writer
	next  uint64
}

func newFrameReader(from io.Reader, noise io.Writer) *frameReader {
	return &frameReader{from: bufio.NewReaderSize(from, 64<<10), noise: noise}
}

// read returns the next frame's payload. io.EOF: there are no more.
func (r *frameReader) read() ([]byte, error) {
	for {
		line, err := r.from.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil // longer than any frame: pass it on piece by piece
		}
		at := bytes.Index(line, []byte(frameMark))
		if at < 0 {
			if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 {
				_, _ = r.noise.Write(line)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, io.EOF // cut off by the end of the stream
		}
		return r.parse(bytes.TrimRight(line[at+len(frameMark):], "\r\n"))
	}
}

func (r *frameReader) parse(text []byte) ([]byte, error) {
	number, data, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("frame without a number: %.40q", text)
	}
	if n != r.next {
		return nil, fmt.Errorf("frame %d instead of %d: does more than one process answer?", n, r.next)
	}
	r.next++
	b, err := base64.RawStdEncoding.AppendDecode(nil, data)
	if err != nil {
		return nil, fmt.Errorf("frame %d is broken: %w", n, err)
	}
	return b, nil
}
