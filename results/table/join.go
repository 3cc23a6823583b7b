package table

import (
	"slices"
	"strings"
)

// Join makes one table of those of a map, in their order: the campaigns of one search over
// several numbers of nodes. Counts are sums.
func Join(tables []*Table) *Table {
	all := &Table{Schema: tables[0].Schema, Rows: []Row{}, Ranges: []Range{}, Candidates: Candidates{Refused: map[string]int{}}}
	all.Campaign = tables[0].Campaign
	all.Campaign.Trials, all.Campaign.Failed, all.Campaign.Seconds, all.Campaign.Finished = 0, 0, 0, true
	var places []string
	for _, t := range tables {
		all.Rows = append(all.Rows, t.Rows...)
		for _, r := range t.Ranges {
			r.Nodes, r.Ranks = t.nodes, t.ranks
			all.Ranges = append(all.Ranges, r)
		}
		c, of := &all.Candidates, t.Candidates
		c.Enumerated += of.Enumerated
		c.BoundedOut += of.BoundedOut
		c.Tuned += of.Tuned
		c.Untried += of.Untried
		for reason, n := range of.Refused {
			c.Refused[reason] += n
		}
		s := &all.Campaign
		s.Trials += t.Campaign.Trials
		s.Failed += t.Campaign.Failed
		s.Seconds += t.Campaign.Seconds
		s.Finished = s.Finished && t.Campaign.Finished
		s.Simulated = s.Simulated || t.Campaign.Simulated
		if s.SharedGPUs == nil {
			s.SharedGPUs = t.Campaign.SharedGPUs
		}
		if s.Drift == nil {
			s.Drift = t.Campaign.Drift
		}
		if len(s.Fingerprint) == 0 {
			s.Fingerprint = t.Campaign.Fingerprint // the first may have no trial
		}
		all.gain = max(all.gain, t.gain)
		if t.place != "" && !slices.Contains(places, t.place) {
			places = append(places, t.place)
		}
	}
	all.place = strings.Join(places, "; ")
	all.addNotes()
	return all
}

// severalNodes reports whether the table has rows of more than one number of nodes.
func (t *Table) severalNodes() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Nodes != t.Rows[0].Nodes })
}
