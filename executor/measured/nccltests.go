package measured

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/colltune/colltune/executor/nccl/nccltests"
	"github.com/colltune/colltune/internal/units"
)

// readNCCLTests reads the output of nccl-tests or rccl-tests. Rows with wrong data are left
// out, and noted.
func (r *reader) readNCCLTests(text []byte) error {
	report, err := nccltests.Parse(r.Path, text)
	var at *nccltests.Error
	if errors.As(err, &at) {
		return r.errorf(at.Line, "%s", at.Msg)
	} else if err != nil {
		return err
	}
	if _, err := plain(report.Library); err != nil {
		before := text[:max(0, bytes.Index(text, []byte(report.Library)))]
		return r.errorf(1+bytes.Count(before, []byte("\n")), "the library's version: %v", err)
	}
	wrong := 0
	for i := range report.Tables {
		t := &report.Tables[i]
		for j := range t.Rows {
			n, err := r.ncclRow(report, t, &t.Rows[j])
			if err != nil {
				return err
			}
			wrong += n
		}
	}
	if wrong > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%s: %s with wrong data left out", r.Path, units.Count(wrong, "time")))
	}
	if !report.Finished {
		r.notes = append(r.notes, r.Path+": the run did not end, so sizes may be missing")
	}
	return nil
}

// ncclRow adds the times of a row, and returns how many had wrong data.
func (r *reader) ncclRow(report *nccltests.Report, t *nccltests.Table, from *nccltests.Row) (wrong int, err error) {
	line := max(from.Line, 1) // JSON has none
	row := Row{Collective: t.Collective(), Ranks: t.Ranks, Bytes: from.Bytes, Version: report.Library}
	row.Conditions[Mode] = t.Mode
	if t.Program != "" && row.Collective == "" {
		return 0, r.errorf(line, "%s measures no collective that is known here", t.Program)
	}
	if row.Conditions[DType], err = dtypeName(from.Type); err != nil {
		return 0, r.errorf(line, "%v", err)
	}
	for _, placement := range []string{"in", "out"} {
		at := from.Timing(placement)
		if at == nil || from.Bytes < 1 {
			continue
		}
		if at.Wrong > 0 {
			wrong++
			continue
		}
		if err := units.CheckTimeUS(at.TimeUS); err != nil {
			return 0, r.errorf(line, "%v", err)
		}
		row.TimeUS, row.LowUS, row.HighUS = at.TimeUS, 0, 0
		row.Conditions[Placement] = placement
		if err := r.add(row, line); err != nil {
			return 0, err
		}
	}
	return wrong, nil
}
