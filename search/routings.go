package search

import (
	"reflect"
	"slices"
	"strings"

	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search/program"
)

// Routing names a routing on any number of nodes: its family or construction, and those of its
// parameters that are not found for a topology as ring orders and trees are. The parameters may
// be a draft's or a trial's.
func Routing(algorithm string, parameters map[string]any) string {
	return strings.TrimSpace(algorithm + " " + table.ParametersText(ChosenParameters(parameters)))
}

// NormalRouting is a routing as Routing names it, its parameters in any order.
func NormalRouting(text string) string {
	words := strings.Fields(text)
	if len(words) > 1 {
		slices.Sort(words[1:])
	}
	return strings.Join(words, " ")
}

// unlimited is a routing without the limit of SMs that its program was made for.
func unlimited(routing string) string {
	words := slices.DeleteFunc(strings.Fields(routing), func(word string) bool { return strings.HasPrefix(word, program.SMs+"=") })
	return strings.Join(words, " ")
}

// ChosenParameters are the parameters without lists, which are found for a topology.
func ChosenParameters(parameters map[string]any) map[string]any {
	own := map[string]any{}
	for name, v := range parameters {
		if v != nil && reflect.TypeOf(v).Kind() != reflect.Slice {
			own[name] = v
		}
	}
	return own
}

// routingFamilies lists the families and constructions of the routings asked for.
func (o *Options) routingFamilies() (names []string) {
	for _, r := range o.Routings {
		name, _, _ := strings.Cut(r, " ")
		names = append(names, name)
	}
	return names
}
