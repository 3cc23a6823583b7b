package autotune

// practice is how trials are made. It is all that depends on whether an executor's times are
// exact: computed, and equal for equal trials. Else they are measured: trials would disturb one
// another, the fastest of many is partly the luckiest, and what was measured decides what is
// measured next.
type practice struct {
	exact         bool
	jobs          int     // trials at a time
	choices       int     // trials that a model chooses at a time; it does not depend on jobs
	repeats       int     // measurements of a trial before it is chosen for a file
	recalls       bool    // what is next follows from the whole journal, and not from what is needed of it
	forConfirming float64 // part of a limit that is left for measuring contenders again; 0: none is
	watchEvery    int     // trials after which an incumbent is measured again, so that a drift of the machine is seen (results/table tells it); 0: never
	givesUp       bool    // a trial under way is given up when the budget is spent
	efforts       []effort
}

// practiceOf is the practice with an executor.
func practiceOf(exact bool, jobs int) practice {
	if exact {
		return practice{exact: true, jobs: jobs, choices: batchSize, repeats: 1, givesUp: true}
	}
	return practice{jobs: 1, choices: 1, repeats: minMeasured, recalls: true, forConfirming: 0.2, watchEvery: 20, efforts: efforts}
}

// Measurements of contenders.
const (
	minMeasured = 2 // of an incumbent, including the first
	maxMeasured = 4 // of a contender that can't be told from it
)

// batchSize is the number of trials chosen before the first of them runs. It is a
// constant rather than the number of jobs, so that the choice does not depend on it.
const batchSize = 16

// effort is how many iterations a trial has.
type effort struct {
	most int64 // bytes that the timed iterations move, if more than the least
	part int   // the least: iterations of the plan divided by this,
	few  int   // and as many at least
}

// efforts are those of a trial and of its repetitions. A first trial tells only whether a
// program is a contender. It has fewer iterations than the plan's where these would move much
// data, and so do repetitions, but later.
var efforts = []effort{
	{64 << 20, 20, 2}, // a first trial
	{1 << 30, 4, 2},   // a repetition
}

// effort returns the timed iterations of a trial, and those before them, of the plan's. repeat
// is the number of its earlier trials.
func (p *practice) effort(iters, warmup int, bytes int64, repeat int) (int, int) {
	if len(p.efforts) == 0 {
		return iters, warmup
	}
	e := p.efforts[min(repeat, len(p.efforts)-1)]
	few := min(iters, max(int(e.most/bytes), iters/e.part, e.few))
	if few < iters {
		warmup = min(warmup, max(1, few/4))
	}
	return few, warmup
}
