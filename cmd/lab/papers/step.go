package papers

import (
	"fmt"

	"github.com/colltune/colltune/search/libraries"
	"github.com/colltune/colltune/search/workload"
)

// step compares the libraries of some sources in a step that comes with colltune. The
// vendor's makes the calls that the others lack.
func step(name, vendor string, from workload.Source, ranks int, parameters map[string]float64) (*workload.Result, error) {
	text, known := workload.ShippedStep(name)
	if !known {
		return nil, fmt.Errorf("no step is called %s", name)
	}
	s, err := workload.Parse(name, text, workload.Options{Ranks: ranks, Parameters: parameters})
	if err != nil {
		return nil, err
	}
	return workload.Compare(s, from, workload.Libraries{Fallback: vendor})
}

// librarySource supplies the vendor's library's times.
type librarySource struct {
	lab    *Lab
	system string
}

func (s librarySource) Times(k workload.Kind) ([]libraries.Time, error) {
	t, err := s.lab.vendorTime(s.system, k)
	return []libraries.Time{t}, err
}

// alone is the case of one library.
func alone(r *workload.Result, library string) (*workload.Case, error) {
	for i := range r.Singles {
		if c := &r.Singles[i]; c.Name == library && c.Lacks == "" {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: %s alone can't make all calls", r.Step.Name, library)
}
