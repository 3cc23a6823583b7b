package results

// Called is what a search calls a program: by the first of its candidates that
// compiles to it.
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

// call makes a trial call its program by that name.
func (n Called) call(t *Trial) {
	t.Algorithm, t.Source, t.Parameters, t.Channels, t.Instances = n.Algorithm, n.Source, n.Parameters, n.Channels, n.Instances
}

// calledOtherwise keeps those names that differ from the journal's. A search that
// a budget cut short may have reached another candidate with the same program
// first, and a journal is not rewritten. The caller holds mu.
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
