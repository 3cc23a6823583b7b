package collective

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// Traffic returns the counts of a vector form over n ranks whose traffic is balanced, or
// skew:F, where rank 0 has F times the mean: what it contributes to an allgatherv or gatherv
// or gets of a scatterv, and what each rank sends to it of an alltoallv, as to the rank of a
// hot expert. The others share the rest equally. F is from 1 to n, to two digits. Balanced
// traffic, and that of other collectives, has no counts.
func Traffic(name string, n int, traffic string) ([]int, error) {
	factor, skewed := strings.CutPrefix(traffic, "skew:")
	switch {
	case !skewed && (traffic == "" || traffic == "balanced" || traffic == "dispatch" || traffic == "combine"):
		return nil, nil
	case !skewed:
		return nil, fmt.Errorf("traffic %.40q: want balanced, or skew:F", traffic)
	case vectors[name].plain == "":
		return nil, fmt.Errorf("%s has no traffic of its own: want one of %s", name, strings.Join(VectorForms(), ", "))
	}
	f, err := units.ParseDecimal(factor)
	if err != nil || !(f >= 1 && f <= float64(n)) || n < 2 {
		return nil, fmt.Errorf("traffic %.40q over %d ranks: want skew:F with F from 1 to the ranks", traffic, n)
	}
	hundredths := int(math.Round(f * 100))
	row := make([]int, n)
	for i := range row {
		row[i] = 100*n - hundredths
	}
	row[0] = hundredths * (n - 1)
	row = dividedByGCD(row)
	if vectors[name].wants(n) == n {
		return row, nil
	}
	return slices.Repeat(row, n), nil
}

// TrafficName names the traffic of counts: balanced, the skew:F that Traffic makes of it, or
// matrix: and a hash. Counts that are multiples of others have the same name.
func TrafficName(name string, counts []int) string {
	counts = dividedByGCD(counts)
	n := len(counts)
	if n > 0 && vectors[name].wants(n) != n {
		n = int(math.Sqrt(float64(n)))
	}
	if n == 0 || !slices.ContainsFunc(counts, func(c int) bool { return c != counts[0] }) {
		return "balanced"
	}
	sum := 0
	for _, c := range counts[:n] {
		sum += c
	}
	if sum > 0 {
		skew := "skew:" + strconv.FormatFloat(math.Round(100*float64(counts[0])*float64(n)/float64(sum))/100, 'g', -1, 64)
		if same, err := Traffic(name, n, skew); err == nil && slices.Equal(same, counts) {
			return skew
		}
	}
	return fmt.Sprintf("matrix:%x", sha256.Sum256([]byte(FormatCounts(counts, n))))[:len("matrix:")+12]
}
