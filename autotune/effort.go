package autotune

// A first trial tells only whether a program is a contender. It has fewer iterations than
// the plan's where these would move much data, and so do repetitions, but later.
var efforts = []struct {
	most int64 // bytes that the timed iterations move, if more than the least
	part int   // the least: iterations of the plan divided by this,
	few  int   // and as many at least
}{
	{64 << 20, 20, 2}, // a first trial
	{1 << 30, 4, 2},   // a repetition
}

// effort returns the timed iterations of a trial, and those before them. repeat is the
// number of its earlier trials. Where times are computed, all trials have the plan's.
func (r *run) effort(bytes int64, repeat int) (iters, warmup int) {
	iters, warmup = r.problem.Iters, r.problem.Warmup
	if r.deterministic {
		return iters, warmup
	}
	e := efforts[min(repeat, len(efforts)-1)]
	few := min(iters, max(int(e.most/bytes), iters/e.part, e.few))
	if few < iters {
		warmup = min(warmup, max(1, few/4))
	}
	return few, warmup
}
