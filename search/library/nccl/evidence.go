package nccl

// Evidence is what supports a time of the library, the weakest first.
type Evidence int

// Evidence of a time.
const (
	Unknown   Evidence = iota // nothing says the time
	Predicted                 // the vendor's own model
	Fitted                    // a simulated program, or a closed form, fitted to measurements
	Measured                  // a given file, a library's rows, the executor's own library
)

var evidences = [...]string{Unknown: "unknown", Predicted: "predicted", Fitted: "fitted", Measured: "measured"}

func (e Evidence) String() string { return evidences[e] }
