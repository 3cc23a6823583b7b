package script

import (
	"strings"
	"testing"
)

// TestGuardedWhereverTheyStand has an operator make too long a list in every place
// that an expression can have.
func TestGuardedWhereverTheyStand(t *testing.T) {
	const want = "a list of 1, 1073741824 times: want at most 262144 in all"
	for _, body := range []string{
		"a = LONG",
		"a, b = 1, LONG",
		"a = [1]; a += LONG",
		"a = [1]; a[len(LONG)] = 2",
		"a = [1]; a[0] = LONG",
		"(LONG)",
		"a = -len(LONG)",
		"a = 1 + len(LONG)",
		"a = len(LONG) == 1",
		"a = True and LONG",
		"a = not LONG",
		"a = len(LONG)",
		"a = sorted([1], key = LONG)",
		"a = max(*LONG)",
		"a = dict(**{\"a\": LONG})",
		"a = LONG.index(1)",
		"a = LONG[0]",
		"a = [1][len(LONG)]",
		"a = [1][len(LONG):]",
		"a = [1][:len(LONG)]",
		"a = [1][::len(LONG)]",
		"a = 1 if LONG else 2",
		"a = LONG if topo else 2",
		"a = 1 if not topo else LONG",
		"a = [LONG]",
		"a = (1, LONG)",
		"a = {LONG: 1}",
		"a = {1: LONG}",
		"a = (lambda: LONG)()",
		"a = (lambda x = LONG: 1)()",
		"a = [LONG for i in [1]]",
		"a = [i for i in LONG]",
		"a = [i for j in [1] for i in LONG]",
		"a = [i for i in [1] if LONG]",
		"a = {i: LONG for i in [1]}",
		"a = {i: i for i in LONG}",
		"a = [0]; b = [1 for a[len(LONG)] in [1]]",
		"for i in LONG: pass",
		"for i in [1]: a = LONG",
		"a = [0]\n    for a[len(LONG)] in [1]: pass",
		"if LONG: pass",
		"if topo: a = LONG",
		"if not topo: pass\n    else: a = LONG",
		"def f(): return LONG\n    f()",
		"def f(x = LONG): pass",
	} {
		src := "family(name = \"x\", collectives = [\"allgather\"])\ndef program(topo, p):\n    " + strings.ReplaceAll(body, "LONG", "([0] * (1 << 30))") + "\n"
		tpl, err := Load("x.star", []byte(src), Options{})
		if err == nil {
			_, err = tpl.Trace(Even(2, 4), Request{Collective: "allgather"}, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", body, err, want)
		}
	}
}
