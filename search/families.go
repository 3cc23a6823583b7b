package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
)

// constructions lists those of a collective that flags admit. They have no parameters to fix, so
// fixing some excludes them.
func (o *Options) constructions(coll string) (names []string) {
	if len(o.Parameters) > 0 || o.Channels > 0 {
		return nil
	}
	for _, name := range program.Constructions(coll) {
		if !slices.Contains(o.Exclude, name) && (len(o.Families) == 0 || slices.Contains(o.Families, name)) &&
			(len(o.Routings) == 0 || slices.Contains(o.routingFamilies(), name)) {
			names = append(names, name)
		}
	}
	return names
}

// families lists all families, built-in ones and the user's, and those of them
// that are asked for. An unknown name is an error.
func (o *Options) families() (all, asked []*templates.Family, err error) {
	own, err := o.own()
	if err != nil {
		return nil, nil, err
	}
	all = append(templates.Builtin(), own...)
	named := func(names []string) (some []*templates.Family, err error) {
		for _, name := range names {
			if program.IsConstruction(name) || isLibrary(name) {
				continue
			}
			f, err := templates.Find(all, name, "")
			if err != nil && (o.isNative(name) || o.unknown()) {
				continue
			}
			if err != nil {
				return nil, &UnknownFamily{err}
			}
			some = append(some, f)
		}
		return some, nil
	}
	only, err := named(o.Families)
	if err != nil {
		return nil, nil, err
	}
	without, err := named(o.Exclude)
	if err != nil {
		return nil, nil, err
	}
	routed, err := named(o.routingFamilies())
	if err != nil {
		return nil, nil, err
	}
	for _, f := range all {
		if (len(o.Families) == 0 || slices.Contains(only, f)) && (len(o.Routings) == 0 || slices.Contains(routed, f)) && !slices.Contains(without, f) {
			asked = append(asked, f)
		}
	}
	return all, asked, nil
}

// own lists the user's families. Two with the same name are an error, as the name
// would be ambiguous.
func (o *Options) own() (all []*templates.Family, err error) {
	files := map[string]string{}
	for _, t := range o.Templates {
		f, err := templates.Parse(t.Name, []byte(t.Text))
		if err != nil {
			return nil, err
		}
		if other, taken := files[f.Name]; taken {
			return nil, &SameName{f.Name, other, t.Name}
		}
		files[f.Name] = t.Name
		all = append(all, f)
	}
	return all, nil
}

// SameName reports two of the user's files with a family of the same name.
type SameName struct{ Family, First, Second string }

// Error names the family and both files.
func (e *SameName) Error() string {
	return fmt.Sprintf("%s and %s both define family %q: want another name in one of them", e.First, e.Second, e.Family)
}

// UnknownFamily reports a requested family that does not exist.
type UnknownFamily struct{ err error }

// Error names the family and a similar one, or all.
func (e *UnknownFamily) Error() string { return e.err.Error() }

// noFamily says why nothing was enumerated at all.
func noFamily(families []*templates.Family, p *Problem) error {
	var have []string
	for _, f := range templates.ForCollective(families, p.Collective) {
		have = append(have, f.Name)
	}
	if len(have) == 0 {
		return &NothingFound{"no family does " + p.Collective}
	}
	return &NothingFound{fmt.Sprintf("no family asked for does %s: those that do are %s", p.Collective, strings.Join(have, ", "))}
}

// NothingFound reports a search without any candidate left, and why.
type NothingFound struct{ Why string }

// Error says why nothing was found.
func (e *NothingFound) Error() string { return "nothing found: " + e.Why }
