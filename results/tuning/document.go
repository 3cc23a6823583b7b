package tuning

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
}
