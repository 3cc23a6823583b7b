package main

import (
	"encoding/json"
	"regexp"
	"testing"
)

// FuzzRunsFile: of any text, calibrate reads rows that can be simulated, or says at which
// line it is wrong.
func FuzzRunsFile(f *testing.F) {
	const document = `{"schema": "colltune.run/v1", "program": {"file": "a.json", "ir": "0", "tile_bytes": 4},
 "rows": [{"bytes": 1024, "time_us": 3.5},
  {"bytes": 2048, "time_us": 4}]}`
	for _, text := range []string{document, document[:90], "", "[]", "null", `{"rows": [1, {"bytes": "x"}]}`, `{"rows": [{}], "schema": "colltune.run/v1", "program": {}}`} {
		f.Add(text)
	}
	at := regexp.MustCompile(`^r\.json:[1-9][0-9]*: `)
	f.Fuzz(func(t *testing.T, text string) {
		r := &runsFile{path: "r.json", text: text}
		err := r.decode()
		var rows []runRow
		if err == nil {
			rows, err = r.rows()
		}
		if err != nil {
			if !at.MatchString(err.Error()) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if !json.Valid([]byte(text)) || len(rows) != len(r.Rows) {
			t.Errorf("%q: read %d rows", text, len(rows))
		}
		for _, row := range rows {
			if row.Bytes < 1 || !(row.TimeUS > 0) {
				t.Errorf("%q: read %+v", text, row)
			}
		}
	})
}
