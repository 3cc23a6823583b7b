package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// Check refuses a search that makes no sense before anything is done for it: an
// impossible problem, a family that does not exist or does not implement the
// collective, a template that can't be read, a parameter that no family has, or
// one with a value for another system. It is cheap. Enumerate checks the same,
// except for the last: there only the family is refused, because in a search over
// several systems the value may fit another.
func Check(p Problem, o Options) error {
	p, err := p.Defined(&o)
	if err != nil {
		return err
	}
	asked, err := o.check(&p)
	if err != nil {
		return err
	}
	return o.fit(program.MachineOf(p.Topology), asked)
}

// request is a search that was resolved: nothing changes it, and all stages read it.
type request struct {
	problem Problem             // with the table of its collective
	options Options             // with the protocols that the runtime enables
	asked   []*templates.Family // to be enumerated
}

// resolve checks a search, for each of its placements, and completes it.
func resolve(p Problem, o Options) (*request, error) {
	r := &request{}
	var err error
	if r.problem, err = p.Defined(&o); err != nil {
		return nil, err
	}
	for _, one := range r.problem.placements() {
		if r.asked, err = o.check(&one); err != nil {
			return nil, err
		}
	}
	r.options = o.dropDisabledProtocols(p.Topology)
	return r, nil
}

// fit reports a parameter that is fixed to a value which fits the machine in no
// family that has it, such as a ring of three for four GPUs. Otherwise the results
// of other families would look like an answer to that.
func (o *Options) fit(m script.Machine, asked []*templates.Family) error {
	for _, name := range slices.Sorted(maps.Keys(o.Parameters)) {
		var misfits []string
		fits := false
		for _, f := range asked {
			parameter, err := f.Parameter(name)
			if err != nil {
				continue
			}
			value, err := parameter.ParseValue(o.Parameters[name])
			if err != nil {
				return err
			}
			if why := parameter.Mismatch(value, m); why != "" {
				misfits = append(misfits, fmt.Sprintf("family %s: %s", f.Name, why))
			} else {
				fits = true
			}
		}
		if !fits && len(misfits) > 0 {
			return &ParameterError{misfits[0]}
		}
	}
	return nil
}

// check is Check, and returns the families to enumerate.
func (o *Options) check(p *Problem) (asked []*templates.Family, err error) {
	t := p.target()
	if err := t.Check(p.Sizes); err != nil {
		return nil, err
	}
	for _, proto := range o.Protocols {
		if err := p.Topology.CheckProtocol(proto); err != nil {
			return nil, &ParameterError{err.Error()}
		}
	}
	if o.Baseline != nil {
		if _, err := o.Baseline.Measured(p); err != nil {
			return nil, err
		}
	}
	for i := range o.Libraries {
		if _, err := o.Libraries[i].Rows(p); err != nil {
			return nil, err
		}
	}
	if err := o.checkRegistered(p.Collective); err != nil {
		return nil, err
	}
	if err := o.checkLibrary(p.Topology); err != nil {
		return nil, err
	}
	all, asked, err := o.families()
	if err != nil {
		return nil, err
	}
	asked = templates.ForCollective(asked, p.Collective)
	natives := o.natives(p.Collective)
	if len(asked) == 0 && len(o.constructions(p.Collective)) == 0 && len(natives) == 0 && !o.unknown() && !o.triesSettings(p.Topology) {
		return nil, noFamily(all, p)
	}
	var names []string
	for _, a := range natives {
		names = slices.AppendSeq(names, maps.Keys(a.Settings))
	}
	for _, f := range asked {
		for _, parameter := range f.Parameters {
			names = append(names, parameter.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range slices.Sorted(maps.Keys(o.Parameters)) {
		if !slices.Contains(names, name) && !o.unknown() {
			return nil, &ParameterError{fmt.Sprintf("unknown parameter %q%s: the families for %s have %s",
				name, suggest.DidYouMean(name, names), p.Collective, strings.Join(names, ", "))}
		}
	}
	fixing := o.building(nil)
	for _, f := range asked {
		if own, err := topologies.ParseProto(f.Protocol); err == nil && len(o.Protocols) > 0 && !slices.Contains(o.Protocols, own) {
			return nil, &ParameterError{fmt.Sprintf("family %s (%s) names its protocol, %s, and the search asks for %s (--protocol): want the same, or --exclude %s",
				f.Name, f.Source, own, strings.Trim(fmt.Sprint(o.Protocols), "[]"), f.Name)}
		}
		fixed := fixing.Fixed(f)
		for _, name := range slices.Sorted(maps.Keys(fixed)) {
			parameter, err := f.Parameter(name)
			if err == nil {
				_, err = parameter.ParseValue(fixed[name])
			}
			if err != nil {
				return nil, &ParameterError{fmt.Sprintf("family %s: %v", f.Name, err)}
			}
		}
	}
	return asked, nil
}

// ParameterError says that a parameter is fixed which no family searched has,
// or to what its family does not allow; or a protocol that the system has not, or
// a state of the buffers that the executor has not.
type ParameterError struct{ why string }

// Error names the parameter, the protocol or the state, and the families or values that there are.
func (e *ParameterError) Error() string { return e.why }
