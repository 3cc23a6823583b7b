package cuda

import (
	"fmt"
	"os"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/driver"
	"github.com/colltune/colltune/executor/cuda/nvrtc"
)

// Needs returns, for doctor, whether the driver's library, the kernels and NVRTC are there.
// It loads the libraries but does not start the driver, because a broken one must not end
// doctor.
func Needs() []executor.Finding {
	d, err := driver.Load()
	if err != nil {
		return []executor.Finding{{What: "libcuda", Detail: err.Error()}}
	}
	all := []executor.Finding{
		{What: "libcuda", Found: true, Detail: d.Library},
		{What: "kernels", Found: true, Detail: "embedded, for compute capability 7.0 and later; `executor check cuda` looks at the GPUs"},
	}
	r, err := nvrtc.Open()
	if err != nil {
		detail := "not needed where the driver compiles the kernels; wanted: 11.2 or later"
		if os.Getenv(nvrtc.LibraryVariable) != "" {
			detail = err.Error()
		}
		return append(all, executor.Finding{What: "libnvrtc", Detail: detail})
	}
	return append(all, executor.Finding{What: "libnvrtc", Found: true, Detail: fmt.Sprintf("%s, version %s", r.Name, r.Version)})
}
