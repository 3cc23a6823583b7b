package autotune

import "time"

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of event, in the order in which a cell has them.
const (
	CellStarted  EventKind = iota // a cell begins, or goes on
	TrialDone                     // a trial has an outcome, new or known
	CellFinished                  // no trial left in the cell can win
)

// Event is a step of a run's progress.
type Event struct {
	Kind      EventKind
	Bytes     int64
	Placement string
	Cell      int           // index of the cell, from 0
	Cells     int           // number of cells
	Trials    int           // of all cells, before pruning
	Done      int           // of these, with an outcome or bounded out
	Made      int           // trials made by this run so far, in all cells
	Known     int           // found in the journal so far
	Failed    int           // of Made and Known, those without a result
	Left      time.Duration // to the end, estimated; 0: not known
	Runtime   string        // after all cells: whose files are being chosen

	// Of TrialDone: the trial.
	Algorithm string
	Protocol  string
	TileBytes int64
	Outcome   string
	Note      string
	TimeUS    float64 // median; 0 where not ok

	// The fastest so far in this cell; 0 and none before the first.
	IncumbentUS float64
	Incumbent   string
}
