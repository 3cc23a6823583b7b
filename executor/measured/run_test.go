package measured_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/colltune/colltune/executor/measured"
)

// FuzzReadRun: of any text, rows are read that can be simulated, or it is said at which line it
// is wrong.
func FuzzReadRun(f *testing.F) {
	const document = `{"schema": "colltune.run/v1", "program": {"file": "a.json", "ir": "0", "tile_bytes": 4},
 "rows": [{"bytes": 1024, "time_us": 3.5},
  {"bytes": 2048, "time_us": 4}]}`
	for _, text := range []string{document, document[:90], "", "[]", "null", "\ufeff" + document, `{"rows": [1, {"bytes": "x"}]}`, `{"rows": [{}], "schema": "colltune.run/v1", "program": {}}`} {
		f.Add([]byte(text))
	}
	at := regexp.MustCompile(`^r\.json:[1-9][0-9]*: `)
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := measured.ReadRun("r.json", text)
		var rows []measured.RunRow
		if err == nil {
			rows, err = r.Rows()
		}
		if err != nil {
			if !at.MatchString(err.Error()) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if !json.Valid(text) && text[0] != 0xef || len(rows) != len(r.Raw) {
			t.Errorf("%q: read %d rows", text, len(rows))
		}
		for _, row := range rows {
			if row.Bytes < 1 || !(row.TimeUS > 0) {
				t.Errorf("%q: read %+v", text, row)
			}
		}
	})
}
