package search

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// Earlier is what was measured in another campaign, as the plan keeps it: a line of CSV for
// each configuration and size, after the fingerprint of their executor and the columns.
type Earlier struct{ Name, Text string }

// earlierColumns are the columns of an Earlier's text.
const earlierColumns = "bytes,placement,ir,protocol,tile_bytes,time_us"

// EarlierOf reads what a search of a problem may learn from a campaign. An error says that
// there is nothing, or that the campaign's calls or system are others.
func EarlierOf(c *results.Campaign, name string, p *Problem) (Earlier, error) {
	of := c.Plan()
	for _, d := range []struct{ what, has, want string }{
		{"collective", of.Collective, p.Collective},
		{"dtype", of.DType, p.DType},
		{"reduction", of.Op, p.Op},
		{"topology", results.ShortHash(of.Topology.Hash), results.ShortHash(p.Topology.Hash())},
	} {
		if d.has != d.want {
			return Earlier{}, fmt.Errorf("%s is of another %s: %s, want %s", name, d.what, d.has, d.want)
		}
	}
	trials := c.Trials()
	pools := table.Pools(trials)
	var lines []string
	for at, p := range pools {
		if !p.Wrong && len(p.TimesUS) > 0 {
			lines = append(lines, fmt.Sprintf("%d,%s,%s,%s,%d,%v", at.Bytes, at.Placement, at.Program, at.Protocol, at.TileBytes, results.Median(p.TimesUS)))
		}
	}
	if len(lines) == 0 {
		return Earlier{}, fmt.Errorf("%s has no time to learn from", name)
	}
	slices.Sort(lines)
	executor, _ := c.Executor()
	return Earlier{name, executor.Hash() + "\n" + earlierColumns + "\n" + strings.Join(lines, "\n") + "\n"}, nil
}

// read returns the fingerprint and the times of an Earlier's text.
func (e *Earlier) read() (fingerprint string, all []autotune.Earlier, err error) {
	fingerprint, rest, _ := strings.Cut(e.Text, "\n")
	rows, err := csv.NewReader(strings.NewReader(rest)).ReadAll()
	if err != nil || len(rows) == 0 || strings.Join(rows[0], ",") != earlierColumns {
		return "", nil, fmt.Errorf("campaign.toml: learn-from %s: want a fingerprint, and CSV with the columns %s", e.Name, earlierColumns)
	}
	for i, row := range rows[1:] {
		bytes, bad := strconv.ParseInt(row[0], 10, 64)
		tile, bad2 := strconv.ParseInt(row[4], 10, 64)
		us, bad3 := strconv.ParseFloat(row[5], 64)
		if bad != nil || bad2 != nil || bad3 != nil || units.CheckTimeUS(us) != nil {
			return "", nil, fmt.Errorf("campaign.toml: learn-from %s: row %d is no time of a size", e.Name, i+1)
		}
		all = append(all, autotune.Earlier{Bytes: bytes, Placement: row[1], Program: row[2], Protocol: row[3], TileBytes: tile, TimeUS: us})
	}
	return fingerprint, all, nil
}

// StrategyError is the error of a flag that the strategy or the executor takes no notice of.
type StrategyError struct{ error }
