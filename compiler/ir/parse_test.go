package ir

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func printed(t interface{ Fatal(...any) }, p *Program) string {
	var b bytes.Buffer
	if err := Print(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPrintIsReadBack: but for the names, and the count of what moves nothing.
func TestPrintIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		p.Name, p.Comment = "", ""
		for g := range p.GPUs {
			for _, tb := range p.GPUs[g].Threadblocks {
				for i := range tb.Steps {
					if tb.Steps[i].Op == Nop {
						tb.Steps[i].Count = 0
					}
				}
			}
		}
		text := printed(t, p)
		q, err := Parse(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("read back as\n%s\nfrom\n%s", printed(t, q), text)
		}
	})
}

func TestParseErrors(t *testing.T) {
	good := printed(t, pair())
	for _, c := range []struct{ name, from, to, want string }{
		{"no heading", "allreduce over 2 ranks, 2 chunks, in place\n", "", `line 1: "gpu 0 scratch 2": want NAME over N ranks, N chunks`},
		{"ranks", "2 ranks", "two ranks", `line 1: "two": want a number of 0 to 65536`},
		{"too few", "2 ranks", "3 ranks", "2 of 3 GPUs"},
		{"placement", "in place", "upside down", `line 1: "upside down": want root N or in place`},
		{"protocol", "in place\n", "in place\nprotocol LL64\n", `line 2: "protocol LL64": want protocol and one of LL, LL128, Simple`},
		{"gpu", "gpu 1", "gpu 2", `gpu "2": want gpu 1`},
		{"scratch", "scratch", "room", `"gpu 0 room 2": want gpu N, or gpu N scratch N`},
		{"indent", "  tb 0", "   tb 0", "want gpu N, then under it tb N, then under it a step"},
		{"tb", "  tb 1 ch", "  tb 2 ch", `tb "2": want tb 1`},
		{"peer", "send→1", "to→1", "want tb N [send→N] [recv←N] ch N"},
		{"step", "    1 rrcs", "    2 rrcs", `step "2": want step 1`},
		{"op", "rrcs", "rrsc", `instruction "rrsc": want one of nop, s, r,`},
		{"buffer", "in[0:2]", "input[0:2]", `place "input[0:2]": want in, out or sc, and [N], [N:N] or [N:N:N]`},
		{"end", "in[0:2]", "in[4:2]", `place "in[4:2]": want an end that is not before its beginning`},
		{"stride", "in[0:2]", "in[0:4:0]", `place "in[0:4:0]": want a stride of at least 1`},
		{"too many", "in[0:2]", "in[0:4:2:1]", "want in, out or sc"},
		{"counts", "sc[0:2]", "sc[0:3]", "want one place, or two of as many chunks where it reads and writes"},
		{"waits", "waits 0.2", "waits 0", `"": want a number`},
		{"rest", "flagged", "flagged?", `want waits TB.STEP …, flagged`},
	} {
		bad := strings.Replace(good, c.from, c.to, 1)
		if bad == good {
			t.Fatalf("%s: %q is not in\n%s", c.name, c.from, good)
		}
		if _, err := Parse(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// FuzzParse: no text hurts, and what is accepted is printed and read again as the
// same program.
func FuzzParse(f *testing.F) {
	f.Add(printed(f, pair()))
	f.Add("x over 1 ranks, 1 chunks, with {\"counts\":[1]}\ngpu 0\n  tb 0 ch 0\n    0 nop\n")
	f.Add("x over 0 ranks, 0 chunks\n")
	f.Add("x over 1 ranks, 1 chunks\n\t\ngpu 0\n  tb 0 ch 0\n    \v\n    0 nop\n")
	f.Add("x over 1 ranks, 9 chunks\ngpu 0 scratch 9\n  tb 0 ch 0\n    0 cpy  in[0:9:4] → sc[1:8:3] flagged\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		again := printed(t, p)
		q, err := Parse(strings.NewReader(again))
		if err != nil {
			t.Fatalf("%v in\n%s", err, again)
		}
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("read back as\n%s\nfrom\n%s", printed(t, q), again)
		}
	})
}
