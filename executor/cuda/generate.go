package cuda

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"

	"github.com/colltune/colltune/executor/data"
)

//go:generate sh ptx/build.sh

// built is the kernels' PTX, one compressed file an element type.
//
//go:embed ptx/*.ptx.gz
var built embed.FS

// ptxOf returns the PTX of the kernels of an element type.
func ptxOf(d data.DType) ([]byte, error) {
	b, err := built.ReadFile("ptx/" + d.String() + ".ptx.gz")
	if err != nil {
		return nil, fmt.Errorf("kernels of %s were not built into this binary", d)
	}
	text, err := uncompressed(b)
	if err != nil {
		return nil, fmt.Errorf("kernels of %s in this binary: %w", d, err)
	}
	return text, nil
}

func uncompressed(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
