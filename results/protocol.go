package results

import (
	"slices"

	"github.com/colltune/colltune/topologies"
)

// isProtocol reports whether a name is one of the runtimes' wire protocols.
func isProtocol(name string) bool { return slices.Contains(topologies.ProtocolNames(), name) }
