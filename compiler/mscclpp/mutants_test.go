package mscclpp

import (
	"fmt"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/verify"
)

// mutant is a plan with one thing changed.
type mutant struct {
	what  string
	apply func(p *Plan)
}

// mutants returns all plans that differ from one in an offset, a peer, or an
// operation left out.
func mutants(p *Plan) (all []mutant) {
	add := func(what string, apply func(p *Plan)) { all = append(all, mutant{what, apply}) }
	for g := range p.GPUs {
		for i := range p.GPUs[g].RemoteBuffers {
			for r := range p.GPUs {
				if r != g && r != p.GPUs[g].RemoteBuffers[i].Rank {
					add(fmt.Sprintf("gpu %d: remote buffer %d of rank %d", g, i, r), func(p *Plan) { p.GPUs[g].RemoteBuffers[i].Rank = r })
				}
			}
		}
		for t := range p.GPUs[g].Threadblocks {
			ops := func(p *Plan, i int) []Op {
				all := p.GPUs[g].Threadblocks[t].Ops
				if i >= 0 {
					return all[i].Ops
				}
				return all
			}
			for outer := -1; outer < len(p.GPUs[g].Threadblocks[t].Ops); outer++ {
				for i, op := range ops(p, outer) {
					at := fmt.Sprintf("gpu %d threadblock %d op %d.%d: %s", g, t, outer, i, op.Kind.Name)
					add(at+" left out", func(p *Plan) {
						if outer >= 0 {
							o := &p.GPUs[g].Threadblocks[t].Ops[outer]
							o.Ops = slices.Delete(o.Ops, i, i+1)
						} else {
							tb := &p.GPUs[g].Threadblocks[t]
							tb.Ops = slices.Delete(tb.Ops, i, i+1)
						}
					})
					for j := range op.Src {
						for _, by := range [...]int{-1, 1} {
							if op.Src[j].Index+by >= 0 {
								add(fmt.Sprintf("%s: source %d moved by %d", at, j, by), func(p *Plan) { ops(p, outer)[i].Src[j].Index += by })
							}
						}
					}
					for j := range op.Dst {
						for _, by := range [...]int{-1, 1} {
							if op.Dst[j].Index+by >= 0 {
								add(fmt.Sprintf("%s: destination %d moved by %d", at, j, by), func(p *Plan) { ops(p, outer)[i].Dst[j].Index += by })
							}
						}
					}
				}
			}
		}
	}
	return all
}

// unread are operations of others' plans whose outcome nobody reads.
var unread = []string{"gpu 0 threadblock 0 op -1.0: copy"}

// TestMutantsOfThirdPartyPlans changes one thing at a time in third-party plans. Each
// mutant must be found wrong, except for nops that order nothing and data that no
// operation reads; those must compute the right result in any order of their threads,
// and a plan that is judged wrong or stuck must be so in every order.
func TestMutantsOfThirdPartyPlans(t *testing.T) {
	const orders = 5
	for _, path := range shared(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			rng := rand.New(rand.NewSource(1))
			try := func(apply func(*Plan)) string {
				p := load(t, path)
				apply(p)
				return newOracle(p, rng).run(rng)
			}
			for range 3 * orders {
				if why := try(func(*Plan) {}); why != "" {
					t.Fatalf("the plan itself, in some order: %s", why)
				}
			}
			n, spared, raced, seen := 0, 0, 0, 0
			for i, m := range mutants(load(t, path)) {
				p := load(t, path)
				m.apply(p)
				n++
				v := Verify(p, verify.Options{MaxFindings: 3})
				switch r := v.Report; {
				case r.OK():
					spared++
					known := strings.HasSuffix(m.what, "nop left out")
					for _, u := range unread {
						known = known || strings.HasPrefix(m.what, u)
					}
					if !known {
						t.Errorf("found right: %s", m.what)
					}
					for range orders {
						if why := try(m.apply); why != "" {
							t.Fatalf("%s: found right, and in some order: %s", m.what, why)
						}
					}
				case r.Has(verify.Malformed):
				case r.Has(verify.WrongResult), r.Has(verify.Deadlock):
					if why := try(m.apply); why == "" {
						t.Errorf("%s: right in some order, and found: %v", m.what, r.Err())
					}
				case i%4 == 0:
					raced++
					for range orders {
						if try(m.apply) != "" {
							seen++
							break
						}
					}
				}
			}
			t.Logf("%d mutants, %d of them right; %d of %d races go wrong in %d orders", n, spared, seen, raced, orders)
		})
	}
}
