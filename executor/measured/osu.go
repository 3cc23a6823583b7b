package measured

import (
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/units"
)

var (
	osuTitle   = lazyregexp.New(`^# *OSU (?:MPI|NCCL|RCCL|XCCL|ROCM)?\S* *(\S+)(?: Personalized Exchange)? Latency Test`)
	osuType    = lazyregexp.New(`^# *Datatype: *(\w+)`)
	osuColumns = lazyregexp.New(`^# *Size +(?:Avg )?Latency *\(us\)`)
)

// perPeer are the collectives whose size OSU micro-benchmarks print for one rank's part,
// where nccl-tests print that of all: MPI_Allgather(sendbuf, size, …). A reduce-scatter's
// is that of the whole input, which the ranks share.
var perPeer = []string{"allgather", "alltoall", "gather", "scatter"}

// readOSU reads the latency tests of OSU micro-benchmarks, one after another. They print
// no number of ranks: it is to be stated.
func (r *reader) readOSU(text []byte) error {
	var test Row // what the lines above say of the rows
	columns := false
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		switch title, dtype := osuTitle().FindStringSubmatch(line), osuType().FindStringSubmatch(line); {
		case osuLine().MatchString(line):
			if title == nil {
				return r.errorf(n, "%.60q: want the latency test of a collective", line)
			}
			test, columns = Row{}, false
			if err := setCollective(&test, title[1]); err != nil {
				return r.errorf(n, "%v", err)
			}
		case dtype != nil:
			name, err := dtypeName(dtype[1])
			if err != nil {
				return r.errorf(n, "%v", err)
			}
			test.Conditions[DType] = name
		case strings.HasPrefix(line, "#"):
			columns = columns || osuColumns().MatchString(line)
		case line != "" && line[0] >= '0' && line[0] <= '9':
			if !columns {
				return r.errorf(n, "a row before the line that names size and latency in us")
			}
			if err := r.osuRow(test, line, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// osuRow reads a row: the size, the mean latency and, of a full table, others.
func (r *reader) osuRow(row Row, line string, n int) error {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return r.errorf(n, "%.40q: want a size and a time: the line is torn", line)
	}
	for i, name := range []string{"bytes", "time_us"} {
		c, _ := columnOf(name)
		if err := c.set(&row, fields[i]); err != nil {
			return r.errorf(n, "%s: %v", name, err)
		}
	}
	if slices.Contains(perPeer, row.Collective) {
		var err error // without ranks the row is refused
		if row.Bytes, err = units.Product(row.Bytes, int64(max(r.ranks(), 1))); err != nil {
			return r.errorf(n, "bytes: %v", err)
		}
	}
	return r.add(row, n)
}
