package main

import (
	"errors"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// checkPrograms returns an error that names each winner's program that is lost or was
// changed, or does not agree with the campaign's plan and trials.
func checkPrograms(c *results.Campaign, rows []table.Row) (err error) {
	seen := map[string]bool{"": true} // native algorithms have none
	for _, r := range rows {
		if !seen[r.IR] {
			seen[r.IR] = true
			_, lost := c.Program(r.IR)
			err = errors.Join(err, lost)
		}
	}
	return err
}
