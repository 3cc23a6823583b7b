package accuracy_test

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/cmd/lab/accuracy"
	"github.com/colltune/colltune/results/intervals"
)

// measured is a row of a machine on one node of NVLink, whose simulated time is 10 us.
func measured(machine, collective string, bytes int64, us float64) accuracy.Compared {
	return accuracy.Compared{
		Row:         accuracy.Row{Set: machine, Collective: collective, Nodes: 1, GPUs: 8, Bytes: bytes, TimeUS: us},
		SimulatedUS: 10, Name: "ring ×2 Simple", Machine: machine,
		System: intervals.System{Link: "NVLink", Network: "none", Arch: "hopper", Constants: "hopper"},
	}
}

// Tables have the rows from the sizes that are asked, by machine, collective and program, and what limits
// them: of several rows of a call their geometric mean, and of machines that are simulated alike the
// residual in the middle, between sizes no more than a factor of two away.
func TestLimitTables(t *testing.T) {
	m := &accuracy.Manifest{Sets: []accuracy.Set{{Name: "a", Machine: "a"}, {Name: "b", Machine: "b"}, {Name: "old", Machine: "old", Before222: true}, {Name: "other", Machine: "other"}, {Name: "net", Machine: "net"}}}
	again := measured("a", "allreduce", 1<<20, 20)
	again.InPlace, again.DType = true, "f16"
	release := measured("a", "allreduce", 1<<20, 9)
	release.Version = "2.32.3"
	other := measured("other", "alltoall", 4<<20, 90)
	other.System.Constants = "others"
	over := measured("net", "allreduce", 256<<20, 20)
	over.Nodes = 2
	smaller := over
	smaller.Bytes /= 2
	text := accuracy.LimitTables(m, []accuracy.Compared{
		measured("a", "allreduce", 1<<20, 5), again, release, measured("a", "allreduce", 1<<19, 99),
		measured("b", "alltoall", 2<<20, 10), measured("b", "alltoall", 8<<20, 10), measured("a", "alltoall", 4<<20, 40), measured("a", "alltoall", 1<<25, 10),
		measured("old", "alltoall", 4<<20, 5), other, over, smaller,
	})
	for _, want := range []string{
		// 5 and 20 us have 10 in the middle, which is 100 and 50 % off; 40 us at 4M and 10 around it have 20
		"| a | 5 | 50.0 % | 95.0 % | 1.00, 0.25 | 97.5 % of 2 | 50.0 % of 1 |\n",
		"| b | 2 | 0.0 % | 0.0 % | 1.00, 1.00 |  |  |\n",
		"| old | 1 | 100.0 % | 100.0 % | 2.00, 2.00 |  |  |\n",
		"| other | 1 | 88.9 % | 88.9 % | 0.11, 0.11 |  |  |\n",
		"| allreduce | 3 |", "| alltoall | 6 |",
		"| net: allreduce, ring | 1 | 50.0 % | 50.0 % | 0.50, 0.50 |  |  |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n| "); n != 3+4+2+1 {
		t.Errorf("%d lines of tables in\n%s", n, text)
	}
}
