package mscclpp

import "slices"

// counts is an immutable vector of numbers, none negative, in pages that vectors made
// from one another share: most of two clocks of one run is equal. A nil page is all zeros.
type counts []*countPage

type countPage [countsInPage]int32

const countsInPage = 64

// newCounts returns n zeros.
func newCounts(n int) counts { return make(counts, (n+countsInPage-1)/countsInPage) }

func (c counts) at(i int) int32 {
	if p := c[i/countsInPage]; p != nil {
		return p[i%countsInPage]
	}
	return 0
}

// with returns c with x as number i.
func (c counts) with(i int, x int32) counts {
	p := new(countPage)
	if old := c[i/countsInPage]; old != nil {
		*p = *old
	}
	p[i%countsInPage] = x
	c = slices.Clone(c)
	c[i/countsInPage] = p
	return c
}

// same reports whether two vectors are one.
func (c counts) same(d counts) bool { return &c[0] == &d[0] }

// max returns the larger of each two numbers, and how many were looked at. It is one of
// the two vectors wherever that has them all.
func (c counts) max(d counts) (larger counts, looked int) {
	if c.same(d) {
		return c, 0
	}
	looked = len(c)
	larger = c
	fromD := true // d has all that is larger
	for i, p := range c {
		q := d[i]
		if p == q {
			continue
		}
		m := p
		if p == nil {
			m = q
		} else if q != nil {
			m = p.max(q)
			looked += countsInPage
		}
		fromD = fromD && m == q
		if m != p {
			if larger.same(c) {
				larger = slices.Clone(c)
			}
			larger[i] = m
		}
	}
	if fromD {
		return d, looked
	}
	return larger, looked
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
