package programs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/programs"
)

// exchange is an IR in which two ranks send each other what they have.
const exchange = `{"schema":"colltune.ir/v1",
"collective":{"name":"sendrecv","ranks":2,"chunks":1,"in_place":false},
"gpus":[
{"gpu":0,"scratch":0,"threadblocks":[{"tb":0,"send":1,"recv":1,"channel":0,"steps":[{"op":"s","src":["in",0]},{"op":"r","dst":["out",0]}]}]},
{"gpu":1,"scratch":0,"threadblocks":[{"tb":0,"send":0,"recv":0,"channel":0,"steps":[{"op":"s","src":["in",0]},{"op":"r","dst":["out",0]}]}]}]}`

func ExampleParse() {
	f, err := programs.Parse("exchange.json", []byte(exchange))
	if err != nil {
		fmt.Println(err)
		return
	}
	v := f.Verify(nil)
	fmt.Println(v.Format, v.Collective, v.Ranks, v.OK)
	fmt.Println(f.Verify(func(a, b int) bool { return false }).OK)
	// Output:
	// ir sendrecv 2 true
	// false
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		text string
		is   error
		want string
	}{
		{"", nil, "f: empty: want an IR"},
		{"time,us", programs.ErrForm, "f: unknown format"},
		{`{"schema": "colltune.table/v1"}`, programs.ErrOther, "f: not a program"},
		{strings.Replace(exchange, "sendrecv", "nothing", 1), nil, `f: unknown collective "nothing"`},
		{"<algo", nil, "f: "},
	} {
		_, err := programs.Parse("f", []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%q: %v; want %s", c.text, err, c.want)
		}
	}
	if f, err := programs.Parse("f", []byte("\ufeff"+exchange)); err != nil || f.Ranks() != 2 {
		t.Errorf("with a byte order mark: %v", err)
	}
}
