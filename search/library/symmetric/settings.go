package symmetric

// counts are the numbers of threadblocks that NCCL_SYM_CTAS is tried with.
var counts = [...]int{1, 2, 4, 8, 16, 24, 32, 48, maxCTAs}

// Settings are what variables make a release run for a call, by kernel and number of threadblocks (NCCL_SYM_KERNEL,
// NCCL_SYM_CTAS), and copy engines (the policy ZERO of NCCL_CTA_POLICY), as far as its model has their times: those of
// kernels over nodes it has not.
//
// With fewer threadblocks than the library gives a kernel, a call takes longer by as much as the model says, whatever else bounds it.
func (r *Release) Settings(s System, c Call) (all []Choice) {
	if c.Collective == "allgather" && c.Recv && s.Team == s.Ranks && lookup(models().copies, r, &s, "uc") != nil {
		all = append(all, Choice{US: r.copiesUS(&s, &c)})
	}
	for i := range kernels {
		k := &kernels[i]
		if k.is(network) || !r.mayServe(k, &s, &c) || !r.registered(k, &c) {
			continue
		}
		own, serves := r.time(k, &s, &c)
		if !serves {
			continue
		}
		at, isFitted := r.model(k, &s, &c)
		for _, n := range counts {
			if n <= k.mostCTAs(&s) && (!k.is(tma) || c.bytes() >= k.deepBytes(s.Ranks, n)) {
				all = append(all, Choice{Kernel: k.Name, CTAs: n, US: float64(float32(at(n))), Longer: max(1, at(min(n, own.ctas))/at(own.ctas)), Fitted: isFitted})
			}
		}
	}
	return all
}
