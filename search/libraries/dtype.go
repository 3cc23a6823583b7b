package libraries

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/suggest"
)

// dtypeNames are the element types by rising size.
var dtypeNames = func() []string {
	names := collective.MeasuredDTypes()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(collective.MeasuredBytes(a), collective.MeasuredBytes(b)) })
	return names
}()

// dtypeName returns colltune's name of an element type.
func dtypeName(v string) (string, error) {
	if name := collective.Anyone.DType(v); name != "" {
		return name, nil
	}
	return "", fmt.Errorf("unknown dtype %.40q: want one of %s%s", strings.ToLower(v), strings.Join(dtypeNames, ", "), suggest.DidYouMean(strings.ToLower(v), dtypeNames))
}

// reducing are the collectives whose time depends on the elements: the others move bytes.
var reducing = func() (names []string) {
	for _, name := range collective.Names() {
		if c, err := collective.OfName(collective.Spec{Name: name, Ranks: 2, Chunks: 2}); err == nil && c.Reduces() {
			names = append(names, name)
		}
	}
	return names
}()

// widthOf is the size of a row's elements where they are reduced, so that 16-bit floats of
// both kinds meet; 0 elsewhere, and where the type is not stated.
func widthOf(r *Row) int64 {
	if !slices.Contains(reducing, r.Collective) {
		return 0
	}
	return collective.MeasuredBytes(r.Conditions[DType])
}
