package mscclpp

import "slices"

// counts is an immutable vector of numbers, none negative, in groups of pages that
// vectors made from one another share: most of two clocks of one run is equal. A nil
// group or page is all zeros.
type counts []*countGroup

type (
	countGroup [countPages]*countPage
	countPage  [countsInPage]int32
)

const (
	countsInPage  = 64
	countPages    = 32 // in a group
	countsInGroup = countPages * countsInPage
)

func newCounts(n int) counts { return make(counts, (n+countsInGroup-1)/countsInGroup) }

func (c counts) at(i int) int32 {
	if g := c[i/countsInGroup]; g != nil {
		if p := g[i/countsInPage%countPages]; p != nil {
			return p[i%countsInPage]
		}
	}
	return 0
}

// with returns c with x as number i.
func (c counts) with(i int, x int32) counts {
	c = slices.Clone(c)
	group := copyOf(&c[i/countsInGroup])
	page := copyOf(&group[i/countsInPage%countPages])
	page[i%countsInPage] = x
	return c
}

// copyOf replaces what p points to by a copy, and returns that; nil by zeros.
func copyOf[T any](p **T) *T {
	c := new(T)
	if *p != nil {
		*c = **p
	}
	*p = c
	return c
}

// same reports whether two vectors are one.
func (c counts) same(d counts) bool { return &c[0] == &d[0] }

// max returns the larger of each two numbers, and how many were looked at. It is one of
// the two vectors if that has them all.
func (c counts) max(d counts) (larger counts, looked int) {
	if c.same(d) {
		return c, 0
	}
	larger = largerOf(c, d, &looked, func(g, h *countGroup) *countGroup {
		return (*countGroup)(largerOf(g[:], h[:], &looked, func(p, q *countPage) *countPage {
			looked += countsInPage
			return p.max(q)
		}))
	})
	return larger, looked
}

// largerOf returns the larger, by max, of each two parts of two vectors: one of these if
// that has them all. It adds the number of parts to looked.
func largerOf[T any](c, d []*T, looked *int, max func(p, q *T) *T) []*T {
	*looked += len(c)
	var mixed []*T // nil as long as one of the two has them all
	allC, allD := true, true
	for i, p := range c {
		q := d[i]
		if p == q {
			continue
		}
		m := p
		if p == nil {
			m = q
		} else if q != nil {
			m = max(p, q)
		}
		allBefore := c
		if !allC {
			allBefore = d
		}
		allC, allD = allC && m == p, allD && m == q
		if !allC && !allD {
			if mixed == nil {
				mixed = slices.Clone(allBefore)
			}
			mixed[i] = m
		}
	}
	switch {
	case allC:
		return c
	case allD:
		return d
	}
	return mixed
}

// max returns the larger of each two numbers of two pages: one of these if that has
// them all.
func (p *countPage) max(q *countPage) *countPage {
	var ofP, ofQ int32 // negative once a number of p, of q, is the larger
	for i, x := range p {
		ofP |= q[i] - x
		ofQ |= x - q[i]
	}
	switch {
	case ofQ >= 0:
		return p
	case ofP >= 0:
		return q
	}
	m := new(countPage)
	for i, x := range p {
		m[i] = max(x, q[i])
	}
	return m
}
