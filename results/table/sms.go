package table

import "github.com/colltune/colltune/results"

// blocksPerSM is how many threadblocks of a runtime's kernel fit on an SM. It would follow from the
// kernel's registers and shared memory, which no runtime publishes: so it is one.
const blocksPerSM = 1

// SMs is how many SMs so many threadblocks of a GPU take.
func SMs(threadblocks int) int { return (threadblocks + blocksPerSM - 1) / blocksPerSM }

// SMs is how many SMs of the busiest GPU the winner takes; 0: not known.
func (r *Row) SMs() int { return smsOf(r.Threadblocks) }

// BaselineSMs is how many the baseline takes; 0: not known.
func (r *Row) BaselineSMs() int { return smsOf(r.BaselineThreadblocks) }

func smsOf(threadblocks *int) int {
	if threadblocks == nil {
		return 0
	}
	return SMs(*threadblocks)
}

// threadblocksOf are those of a trial's busiest rank; nil where a library's algorithm does not tell.
func threadblocksOf(t *results.Trial) *int {
	if t.Threadblocks < 1 {
		return nil
	}
	n := t.Threadblocks
	return &n
}

// Proof says why no program can be faster than a row's.
type Proof struct {
	Status string `json:"status"` // optimal: the time meets what no routing can beat
	By     string `json:"by"`     // bound
}
