package script

import (
	"strings"
	"testing"
)

// Names and parameters are columns of tables: long ones are refused at their
// declaration.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	for _, c := range []struct{ name, declares, want string }{
		{"family", `family(name = "LONG", collectives = ["allreduce"])`, "x.star:1:7: family: name of 100000 bytes: want at most 64"},
		{"where", `family(name = "x", collectives = ["allreduce"], where = "LONG")`, "x.star:1:7: family: where of 100000 bytes: want at most 200"},
		{"parameter", `family(name = "x", collectives = ["allreduce"], parameters = {"LONG": choice(1)})`, "x.star:1:7: family: parameter name of 100000 bytes: want at most 64"},
		{"doc", `family(name = "x", collectives = ["allreduce"], parameters = {"p": choice(1, doc = "LONG")})`, "x.star:1:7: family: doc of parameter p of 100000 bytes: want at most 1000"},
		{"value", `family(name = "x", collectives = ["allreduce"], parameters = {"p": choice("LONG")})`, "x.star:1:74: choice: a string of 100000 bytes: want at most 64"},
		{"collective", `collective(name = "LONG", input = 1, output = 1, want = lambda topo, rank, index: None)`, "x.star:1:11: collective: name of 100000 bytes: want at most 64"},
	} {
		_, err := Load("x.star", []byte(strings.ReplaceAll(c.declares, "LONG", long)), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %.200v\nwant %s", c.name, err, c.want)
		}
	}
}

// A byte 0 is an error: Starlark's scanner would take it for the end of the file and
// ignore the rest.
func TestByteZero(t *testing.T) {
	good := "family(name = \"x\", collectives = [\"allreduce\"])\ndef allreduce(topo, p):\n    pass\n"
	if _, err := Load("x.star", []byte(good), Options{}); err != nil {
		t.Fatal(err)
	}
	_, err := Load("x.star", []byte(good+"  \x00print(1)\n"), Options{})
	if want := "x.star:4:3: a byte 0: want text"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
