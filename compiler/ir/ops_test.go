package ir

import (
	"strings"
	"testing"
)

// An instruction's name lists its actions in order: r receives, rr reduces the received
// data with local data, c copies the result to a place, and s sends it.
func TestOpsReadAndWriteByName(t *testing.T) {
	local := map[string]opRow{
		"nop": {},
		"cpy": {readsSrc: true, writesDst: true},
		"re":  {readsSrc: true, writesDst: true, reduces: true},
	}
	for _, o := range Ops() {
		name := o.String()
		want, ok := local[name]
		if !ok {
			want = opRow{
				sends: strings.HasSuffix(name, "s"), receives: strings.HasPrefix(name, "r"),
				reduces: strings.HasPrefix(name, "rr"), writesDst: strings.Contains(name, "c") || name == "r",
			}
			want.readsSrc = want.reduces || !want.receives
		}
		got := opRow{sends: o.Sends(), receives: o.Receives(), readsSrc: o.ReadsSrc(), writesDst: o.WritesDst(), reduces: o.Reduces()}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
