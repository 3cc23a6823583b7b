package tuning

import "encoding/json"

// DocumentSchema names the form of the file that says everything.
const DocumentSchema = "colltune.tuning/v1"

type rulesDocument struct {
	Schema     string   `json:"schema"`
	Provenance []string `json:"provenance"`
	Rules      []Rule   `json:"rules"`
}

// document is colltune's own form, for programs of one's own: every rule whole. Of two rules
// that match, the first counts; beyond all of them there is no answer.
var document = Format{
	Name: "json", Doc: "all of it as JSON, for programs of one's own",
	Pattern: `colltune-table\.json`,
	Load:    "<file> lists rules[] with collective, ranks, nodes, system, min_bytes and max_bytes (both included), and what is the fastest there",
	Lacks:   func(Scope, Config) string { return "" },
	Same:    func(c Config) Config { return c },
	Nodes:   true, System: func(system string) string { return system },
	Write: func(rules []Rule, o Options) ([]File, []string) {
		return []File{{"colltune-table.json", indented(rulesDocument{DocumentSchema, o.Head, rules})}}, nil
	},
	Read: func(name string, text []byte) (Reader, error) {
		var d rulesDocument
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, jsonError(name, text, err)
		}
		if d.Schema != DocumentSchema {
			return nil, lineError(name, 1, "is of %.40q: want %s", d.Schema, DocumentSchema)
		}
		return ruleList(d.Rules), nil
	},
}

type ruleList []Rule

// Choose returns the first rule that matches.
func (l ruleList) Choose(call Scope, bytes int64) (Config, bool) {
	for _, r := range l {
		if r.Scope == call && bytes >= r.First && bytes <= r.Last {
			return r.Config, true
		}
	}
	return Config{}, false
}
