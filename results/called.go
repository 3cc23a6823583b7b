package results

// Called is what the search calls a program: the first of its candidates that
// compile to it.
type Called struct {
	Algorithm  string         `json:"algorithm"`
	Source     string         `json:"source"`
	Parameters map[string]any `json:"parameters,omitempty"`
	Channels   int            `json:"channels"`
	Instances  int            `json:"instances"`
}

// calledBy is what a trial calls its program.
func calledBy(t *Trial) Called {
	return Called{t.Algorithm, t.Source, t.Parameters, t.Channels, t.Instances}
}

// call has a trial call its program so.
func (n Called) call(t *Trial) {
	t.Algorithm, t.Source, t.Parameters, t.Channels, t.Instances = n.Algorithm, n.Source, n.Parameters, n.Channels, n.Instances
}

// calledOtherwise are those of the names that trials in the journal don't have: a
// search that a budget cut short may have come to another of a program's candidates
// first, and what is written stays. The caller holds mu.
func (c *Campaign) calledOtherwise(names map[string]Called) map[string]Called {
	var others map[string]Called
	for _, t := range c.order {
		n, ok := names[t.Program]
		if !ok || equalJSON(n, calledBy(t)) {
			continue
		}
		if others == nil {
			others = map[string]Called{}
		}
		others[t.Program] = n
	}
	return others
}
