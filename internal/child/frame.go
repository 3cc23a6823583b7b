package child

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// MaxFrame is the most bytes of payload in a frame, in either direction.
const MaxFrame = 1 << 30

// FrameError reports a frame whose length, in bytes, is more than the receiver takes:
// the other side does not speak the protocol.
type FrameError struct {
	Length, Max uint32
}

// Error names both lengths.
func (e *FrameError) Error() string {
	return fmt.Sprintf("frame of %d bytes: want at most %d", e.Length, e.Max)
}

// writeFrame writes the payload's length as four bytes, most significant first,
// and the payload.
func writeFrame(w io.Writer, payload []byte) error {
	if len(payload) > MaxFrame {
		return &FrameError{uint32(min(len(payload), 1<<32-1)), MaxFrame}
	}
	if _, err := w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(payload)))); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}

// readFrame reads a frame of at most the given length. Memory is allocated as
// bytes arrive, so a false length costs none. io.EOF means that the stream ended
// between frames, io.ErrUnexpectedEOF within one.
func readFrame(r io.Reader, most int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if limit := uint32(min(most, MaxFrame)); n > limit {
		return nil, &FrameError{n, limit}
	}
	var b bytes.Buffer
	got, err := io.CopyN(&b, r, int64(n))
	if err == io.EOF && got < int64(n) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Conn is the child's end of the connection. It belongs to one goroutine.
type Conn struct {
	Memory int64 // Options.Memory, for libraries that can limit themselves

	r *bufio.Reader
	w *bufio.Writer
}

func newConn(r io.Reader, w io.Writer, memory int64) *Conn {
	return &Conn{memory, bufio.NewReaderSize(r, 64<<10), bufio.NewWriterSize(w, 64<<10)}
}

// Receive waits for the parent's next frame. The error is io.EOF when the parent has
// closed the connection, io.ErrUnexpectedEOF within a frame, or a *FrameError.
func (c *Conn) Receive() ([]byte, error) { return readFrame(c.r, MaxFrame) }

// Send sends a frame of at most MaxFrame bytes to the parent. It returns the error of
// writing it.
func (c *Conn) Send(frame []byte) error {
	if err := writeFrame(c.w, frame); err != nil {
		return err
	}
	return c.w.Flush()
}
