package results

import (
	"fmt"
	"strconv"

	"github.com/colltune/colltune/internal/units"
)

// SharedGPUs returns the number of GPUs that the ranks share; 0 if each rank has its
// own, or the executor names none.
func (e Executor) SharedGPUs(ranks int) int {
	n := e.Devices
	if n == 0 {
		n, _ = strconv.Atoi(e.Fingerprint["devices"]) // what older journals have, of GPUs
	}
	if n < ranks {
		return max(n, 0)
	}
	return 0
}

// PlaceNote warns that an executor's times are not those of the topology's system: its
// ranks share GPUs, or other links connect them. Empty: each rank has a GPU of its own,
// or a model's.
func (e Executor) PlaceNote(ranks int, topology string) string {
	switch n := e.SharedGPUs(ranks); {
	case n == 1:
		return fmt.Sprintf("%s on one GPU: times of its memory", units.Count(ranks, "rank"))
	case n > 1:
		return fmt.Sprintf("%s on %d GPUs: times of their memory and the links between them", units.Count(ranks, "rank"), n)
	case e.OtherLinks:
		return fmt.Sprintf("%s does not join the ranks by the links of %s: times of what it runs on", e.Name, topology)
	}
	return ""
}
