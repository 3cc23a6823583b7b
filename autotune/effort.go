package autotune

// A first trial tells only whether a program is a contender. It has fewer iterations than
// the plan's where these would move much data, but never less than a part of them.
const (
	firstBytes = 64 << 20 // moved by the timed iterations of a first trial, if more than the part
	firstPart  = 4
)

// effort returns the timed iterations of a trial, and those before them. repeat is the
// number of its earlier trials. Where times are computed, all trials have the plan's.
func (r *run) effort(bytes int64, repeat int) (iters, warmup int) {
	iters, warmup = r.problem.Iters, r.problem.Warmup
	if r.deterministic || repeat > 0 {
		return iters, warmup
	}
	few := int(min(max(firstBytes/bytes, int64(iters+firstPart-1)/firstPart), int64(iters)))
	return few, min(warmup, few)
}
