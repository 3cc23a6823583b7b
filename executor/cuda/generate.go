package cuda

import (
	"embed"
	"fmt"

	"github.com/colltune/colltune/executor/data"
)

//go:generate sh ptx/build.sh

// built is the kernels' PTX, one file an element type.
//
//go:embed ptx/*.ptx
var built embed.FS

// ptxOf returns the PTX of the kernels of an element type.
func ptxOf(d data.DType) ([]byte, error) {
	b, err := built.ReadFile("ptx/" + d.String() + ".ptx")
	if err != nil {
		return nil, fmt.Errorf("kernels of %s were not built into this binary", d)
	}
	return b, nil
}
