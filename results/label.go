package results

// ProgramLabel is what a search calls a program: by the first of its candidates that
// compiles to it.
type ProgramLabel struct {
	Algorithm  string         `json:"algorithm"`
	Source     string         `json:"source"`
	Parameters map[string]any `json:"parameters,omitempty"`
	Channels   int            `json:"channels"`
	Instances  int            `json:"instances"`
}

// labelOf is what a trial calls its program.
func labelOf(t *Trial) ProgramLabel {
	return ProgramLabel{t.Algorithm, t.Source, t.Parameters, t.Channels, t.Instances}
}

// apply makes a trial call its program by that name.
func (n ProgramLabel) apply(t *Trial) {
	t.Algorithm, t.Source, t.Parameters, t.Channels, t.Instances = n.Algorithm, n.Source, n.Parameters, n.Channels, n.Instances
}

// changedLabels keeps those names that differ from the journal's. A search that
// a budget cut short may have reached another candidate with the same program
// first, and a journal is not rewritten. The caller holds mu.
func (c *Campaign) changedLabels(names map[string]ProgramLabel) map[string]ProgramLabel {
	var others map[string]ProgramLabel
	for _, t := range c.order {
		n, ok := names[t.Program]
		if !ok || equalJSON(n, labelOf(t)) {
			continue
		}
		if others == nil {
			others = map[string]ProgramLabel{}
		}
		others[t.Program] = n
	}
	return others
}
