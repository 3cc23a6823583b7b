package symmetric

import (
	"embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed *.tsv
var files embed.FS

// tables are the numbers of NCCL's models.
type tables struct {
	base    []row[base]
	fitted  []row[fitted]
	network []row[rail]
	copies  []row[engines]
}

// row is a line of a table, for releases, compute capabilities and a kernel.
type row[T any] struct {
	release, capability int // the first that it is for
	kernel              string
	numbers             T
}

// lookup is the last row that is for a call: those of later releases and capabilities come later. nil: none is.
func lookup[T any](rows []row[T], r *Release, s *System, kernel string) (numbers *T) {
	for i := range rows {
		if x := &rows[i]; x.kernel == kernel && x.release <= r.number && x.capability <= s.Capability {
			numbers = &x.numbers
		}
	}
	return numbers
}

// models reads the tables of this version. They are not to be changed.
var models = sync.OnceValue(func() *tables {
	return &tables{
		base: read("base.tsv", func(f func(string) float64) base {
			const unit = (1 << 30) / 1e6
			b := base{us: f("base_us"), cta: f("cta_gibps") * unit, peak: f("peak_gibps") * unit, times: f("times"), perRank: f("per_rank") == 1}
			b.rise = math.Exp(b.peak/b.cta) - 1
			return b
		}),
		fitted: read("fitted.tsv", func(f func(string) float64) fitted {
			return fitted{f("base_us"), f("rank_us"), f("cta_gbps"), f("ll_gbps"), f("peak_gbps"), f("c8"), f("c32"), f("overlap"),
				f("peak_rank") == 1, f("trough_us"), f("trough_gbps"), f("few_gbps")}
		}),
		network: read("network.tsv", func(f func(string) float64) rail {
			return rail{f("cta_gbps") * 1e9, f("team_gbps") * 1e9, f("chunk_bytes")}
		}),
		copies: read("copies.tsv", func(f func(string) float64) engines {
			return engines{f("base_us"), f("rank_us"), f("gbps") * 1000}
		}),
	}
})

// read reads a table of this package. Lines that begin with # say where its numbers come from; a test reads each.
func read[T any](name string, numbers func(column func(string) float64) T) (rows []row[T]) {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	var head []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case head == nil:
			head = fields
			continue
		}
		column := func(of string) float64 {
			x, err := strconv.ParseFloat(fields[slices.Index(head, of)], 64)
			if err != nil {
				panic(fmt.Sprintf("%s: %v", name, err))
			}
			return x
		}
		rows = append(rows, row[T]{int(column("release")), int(column("capability")), fields[slices.Index(head, "kernel")], numbers(column)})
	}
	return rows
}
