package tuning

// Config is what is to run: a library's kernel, with its knobs.
type Config struct {
	Library    string `json:"library"`
	Version    string `json:"version,omitempty"`
	Kernel     string `json:"kernel,omitempty"`   // the algorithm, by the library's name for it
	Protocol   string `json:"protocol,omitempty"` // LL, LL128 or Simple
	Channels   int    `json:"channels,omitempty"` // or threadblocks; 0: not stated
	Threads    int    `json:"threads,omitempty"`  // of a threadblock; 0: not stated
	Registered bool   `json:"registered,omitempty"`
}

// Scope is the calls that a rule is for, without their sizes.
type Scope struct {
	Collective string `json:"collective"`
	Ranks      int    `json:"ranks"`
	Nodes      int    `json:"nodes,omitempty"`  // 0: not stated
	System     string `json:"system,omitempty"` // "": not stated
}

// Rule is what is to run for calls of the sizes First to Last, in bytes, both included.
type Rule struct {
	Scope
	First int64 `json:"min_bytes"`
	Last  int64 `json:"max_bytes"`
	Config
}

// File is a file to load.
type File struct {
	Name string
	Text []byte
}
