package baseline

import "github.com/colltune/colltune/topologies"

// extra is what the library's call takes beyond the same instructions, run as a program,
// in microseconds.
func (s *system) extra(p topologies.Proto, channels int) float64 {
	if s.rccl != nil {
		return rcclExtra.of(p)
	}
	return 0
}
