package executor

import (
	"os"
	"strconv"
)

// preferred makes the system kill the executor rather than its host when memory
// runs out.
func preferred(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
}
