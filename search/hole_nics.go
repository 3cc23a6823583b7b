package search

import (
	"context"
	"errors"

	"github.com/colltune/colltune/constraints/nics"
)

// nics fills a hole of NICs. It returns nil if every GPU's own NIC is as good as any
// other, because families use these by default. Where no choice of NICs works the
// error is a *Refusal.
func (e *enumeration) nics(_ context.Context, q question) ([][]int, error) {
	t := e.problem.Topology
	for node := range t.Nodes {
		if len(t.NodeRanks(node)) != len(t.NodeRanks(0)) {
			return nil, nil // families handle that case by default
		}
	}
	if e.choice == nil {
		found, err := nics.Choose(t)
		e.choice = &chosenNICs{found, err}
	}
	var none *nics.NoNICError
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

// chosenNICs is the choice, made once for all families.
type chosenNICs struct {
	nics.Choice
	err error
}
