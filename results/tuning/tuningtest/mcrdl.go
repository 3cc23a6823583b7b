package tuningtest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/results/tuning"
)

// mcrdlTable is the entries of a table, by number of ranks and rising message.
type mcrdlTable struct {
	operation string
	entries   map[int][]mcrdlEntry
}

type mcrdlEntry struct {
	message int64
	backend string
}

func readMCRDL(name string, text []byte) (Reader, error) {
	t := mcrdlTable{entries: map[int][]mcrdlEntry{}}
	for line := range strings.Lines(string(text)) {
		word, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "#")), " of ")
		if strings.HasPrefix(line, "#") && collective.MCRDL.Collective(word) != "" {
			t.operation = word
		}
	}
	if t.operation == "" {
		return nil, lineError(name, 1, "has no line that names an operation of MCR-DL")
	}
	c := csv.NewReader(bytes.NewReader(text))
	c.Comment, c.FieldsPerRecord, c.ReuseRecord = '#', 3, true
	for n := 0; ; n++ {
		fields, err := c.Read()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			var at *csv.ParseError
			if errors.As(err, &at) {
				return nil, lineError(name, at.Line, "%v", at.Err)
			}
			return nil, err
		}
		line, _ := c.FieldPos(0)
		if n == 0 {
			if strings.Join(fields, ",") != "world_size,message_bytes,backend" {
				return nil, lineError(name, line, "want the columns world_size, message_bytes and backend")
			}
			continue
		}
		ranks, err1 := strconv.Atoi(fields[0])
		message, err2 := strconv.ParseInt(fields[1], 10, 64)
		all := t.entries[ranks]
		if err := errors.Join(err1, err2); err != nil || ranks < 1 || message < 1 || fields[2] == "" || n > maxEntries || len(all) > 0 && all[len(all)-1].message >= message {
			return nil, lineError(name, line, "want a world size, a message larger than that above it, and a backend")
		}
		t.entries[ranks] = append(all, mcrdlEntry{message, fields[2]})
	}
}

// Choose looks up the world size, then the largest message that is not above the call's;
// below all, the smallest.
func (t mcrdlTable) Choose(call tuning.Scope, bytes int64) (tuning.Config, bool) {
	operation, messages := tuning.MCRDLOperation(call)
	all := t.entries[call.Ranks]
	if operation != t.operation || len(all) == 0 {
		return tuning.Config{}, false
	}
	at := all[0]
	for _, e := range all {
		if e.message <= bytes/messages {
			at = e
		}
	}
	return tuning.Config{Library: at.backend}, true
}
