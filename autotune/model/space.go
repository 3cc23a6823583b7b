package model

// Space is what is chosen from: a table of unknown times, configurations by sizes.
// It is not changed once a model has it.
type Space struct {
	Sizes   []int64  // bytes, rising
	Configs []Config // their order decides among equals
	Traits  []string // what Config.Traits are values of, such as family, protocol, tile
	// PriorUS are times of a model in µs, by configuration and size; 0: it has none there.
	// nil: no prior.
	PriorUS [][]float64
	// Never reports that a configuration can't be run at a size; nil: all can.
	Never func(Point) bool
	// Cost is what a trial is expected to take, in seconds; nil: all the same.
	Cost func(Point) float64
}

// Config is one thing to measure: a program or a library's algorithm, with its knobs.
type Config struct {
	Name   string   // unique in its space
	Traits []string // by Space.Traits; "": it has none of this kind
}

// never reports that a point can't be run.
func (s *Space) never(p Point) bool { return s.Never != nil && s.Never(p) }

// Point is a configuration at a size, both by index.
type Point struct{ Config, Size int }

// Observation is the outcome of one trial of a point. A point may have several.
type Observation struct {
	Point
	TimeUS  float64 // the trial's median, in µs
	Failed  bool    // it has no time, and would have none if it were made again
	Seconds float64 // what the trial took
	Cost    float64 // in seconds, where the executor tells; 0: Seconds
}

// Outlook is what is expected of a size after a history.
type Outlook struct {
	Size      int
	Incumbent int     // the best configuration so far; -1: none has a time
	Gain      float64 // expected part of the incumbent's time that further trials would save
	Next      Point   // the trial expected to gain most for its cost
	Done      bool    // Gain is below Options.Gain, or nothing is left to try
}
