package solver

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/internal/formulatest"
)

func TestQuestionsArriveAsTheyWereSent(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		f := formulatest.Random(r, 1+r.IntN(20))
		p, err := readQuestion(appendQuestion(nil, f, question{id: 42, limit: 1500 * time.Millisecond, work: 70 * time.Microsecond}))
		if err != nil || p.id != 42 || p.limit != 1500*time.Millisecond || p.work != 70*time.Microsecond || p.variables != f.Variables() {
			t.Fatalf("%+v, %v", p, err)
		}
		i := 0
		f.Normal(func(n constraints.NormalRow) {
			got := p.rows[i]
			if got.Bound != n.Bound || len(got.Lits) != len(n.Lits) || (n.Weights != nil) != (got.Weights != nil) {
				t.Fatalf("row %d: sent %+v, got %+v", i, n, got)
			}
			for j := range n.Lits {
				if n.Lits[j] != got.Lits[j] || n.Weights != nil && n.Weights[j] != got.Weights[j] {
					t.Fatalf("row %d: sent %+v, got %+v", i, n, got)
				}
			}
			i++
		})
		if i != len(p.rows) || len(p.prefer) != len(f.Preferences()) || len(p.prefer) > 0 && !reflect.DeepEqual(p.prefer, f.Preferences()) {
			t.Fatalf("%d rows of %d, preferences %v of %v", len(p.rows), i, p.prefer, f.Preferences())
		}
	}
}

func TestFirstWords(t *testing.T) {
	if v, noHello, refused := readHello(appendHello("4.8", nil)); v != "4.8" || noHello != nil || refused != nil {
		t.Error(v, noHello, refused)
	}
	if _, noHello, refused := readHello(appendHello("", errors.New("no library"))); noHello != nil || refused == nil || refused.Error() != "no library" {
		t.Error(noHello, refused)
	}
}

func FuzzReadQuestion(f *testing.F) {
	f.Add(appendQuestion(nil, oneOfTwo(), question{id: 1, limit: time.Second}))
	f.Add(appendQuestion(nil, pigeons(3), question{id: 2, limit: time.Second, work: time.Second}))
	f.Add([]byte{protocolVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := readQuestion(b)
		if err != nil {
			return
		}
		for _, r := range p.rows {
			for _, l := range r.Lits {
				if l == 0 || l.Variable() >= p.variables {
					t.Fatalf("literal %d of %d variables was let through", l, p.variables)
				}
			}
			if r.Weights != nil && len(r.Weights) != len(r.Lits) {
				t.Fatalf("%d weights for %d literals were let through", len(r.Weights), len(r.Lits))
			}
		}
	})
}

func FuzzReadAnswer(f *testing.F) {
	f.Add(appendAnswer(nil, reply{id: 3, model: []bool{true, false, true}, detail: "x"}))
	f.Add(appendAnswer(nil, reply{says: saysError, detail: "no"}))
	f.Add(appendAnswer(nil, reply{id: 9, says: saysWork, work: 3 * time.Second}))
	f.Add([]byte("s SATISFIABLE"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := readAnswer(b)
		if err != nil {
			return
		}
		again, err := readAnswer(appendAnswer(nil, a))
		if err != nil || !reflect.DeepEqual(a, again) {
			t.Fatalf("%+v came back as %+v: %v", a, again, err)
		}
	})
}

func FuzzReadHello(f *testing.F) {
	f.Add(appendHello("4.8.12.0", nil))
	f.Add([]byte("ok  \tpackage"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, noHello, refused := readHello(b)
		if noHello == nil && !bytes.Equal(appendHello(v, refused), b) {
			t.Fatalf("%q was read as %q, %v", b, v, refused)
		}
	})
}
