package results

// ProgramLabel names a program after the first candidate that compiled to it. Its fields
// are those of Trial.
type ProgramLabel struct {
	Algorithm  string         `json:"algorithm"`
	Source     string         `json:"source"`
	Parameters map[string]any `json:"parameters,omitempty"`
	Channels   int            `json:"channels"`
	Instances  int            `json:"instances"`
}

// labelOf returns the label under which a trial was journaled.
func labelOf(t *Trial) ProgramLabel {
	return ProgramLabel{t.Algorithm, t.Source, t.Parameters, t.Channels, t.Instances}
}

func (n ProgramLabel) apply(t *Trial) {
	t.Algorithm, t.Source, t.Parameters, t.Channels, t.Instances = n.Algorithm, n.Source, n.Parameters, n.Channels, n.Instances
}

// changedLabels returns the labels that differ from the journal's. An interrupted
// search may have reached another candidate with the same program first, and a journal
// is never rewritten. The caller holds mu.
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
