package measured

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
