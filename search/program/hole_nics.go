package program

import (
	"context"
	"errors"

	"github.com/colltune/colltune/constraints/nics"
)

// ownOrOtherNICs fills a hole of NICs. It returns nil if every GPU's own NIC is as good as any
// other, because families use these by default. Where no choice of NICs works the
// error is a *Refusal.
func (h *holes) ownOrOtherNICs(_ context.Context, q question) ([][]int, error) {
	t := h.target.Topology
	for node := range t.Nodes {
		if len(t.NodeRanks(node)) != len(t.NodeRanks(0)) {
			return nil, nil // families handle that case by default
		}
	}
	choice, err := h.choice()
	var none *nics.NoNICError
	switch {
	case errors.As(err, &none) && q.open:
		return nil, nil
	case errors.As(err, &none):
		return nil, &Refusal{Reason: NoHole, Detail: err.Error()}
	case err != nil:
		return nil, err
	case choice.Own():
		return nil, nil
	}
	return choice.Lists(), nil
}
