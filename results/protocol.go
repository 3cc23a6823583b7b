package results

import "github.com/colltune/colltune/topologies"

// isProtocol tells whether a name is one of the runtimes' wire protocols.
func isProtocol(name string) bool {
	for _, p := range topologies.AllProtocols {
		if p.String() == name {
			return true
		}
	}
	return false
}
