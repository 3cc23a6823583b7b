package tuningtest

import (
	"encoding/json"

	"github.com/colltune/colltune/results/tuning"
)

func readDocument(name string, text []byte) (Reader, error) {
	var d struct {
		Schema string        `json:"schema"`
		Rules  []tuning.Rule `json:"rules"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, jsonError(name, text, err)
	}
	if d.Schema != tuning.DocumentSchema {
		return nil, lineError(name, 1, "is of %.40q: want %s", d.Schema, tuning.DocumentSchema)
	}
	return ruleList(d.Rules), nil
}

type ruleList []tuning.Rule

// Choose returns the first rule that matches.
func (l ruleList) Choose(call tuning.Scope, bytes int64) (tuning.Config, bool) {
	for _, r := range l {
		if r.Scope == call && bytes >= r.First && bytes <= r.Last {
			return r.Config, true
		}
	}
	return tuning.Config{}, false
}
