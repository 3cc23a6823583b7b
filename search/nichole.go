package search

import (
	"context"
	"errors"

	"github.com/colltune/colltune/constraints"
)

// nics fills a hole of NICs: where every GPU's own is as good as any, that is what
// families do by themselves, and there is nothing to add.
func (e *enumeration) nics(_ context.Context, q question) ([][]int, error) {
	t := e.problem.Topology
	for node := range t.Nodes {
		if len(t.NodeRanks(node)) != len(t.NodeRanks(0)) {
			return nil, nil // the families' business
		}
	}
	if e.choice == nil {
		found, err := constraints.NICs(t)
		e.choice = &chosenNICs{found, err}
	}
	var none *constraints.NoNICError
	switch err := e.choice.err; {
	case errors.As(err, &none) && q.open:
		return nil, nil
	case errors.As(err, &none):
		return nil, &Refusal{Reason: NoHole, Detail: err.Error()}
	case err != nil:
		return nil, err
	case e.choice.Own():
		return nil, nil
	}
	return e.choice.Lists(), nil
}

// chosenNICs are chosen once for all families.
type chosenNICs struct {
	constraints.NICAnswer
	err error
}
