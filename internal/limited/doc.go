// Package limited does things in parallel, within a number of jobs and a room that they share,
// with the error that a sequential run would have.
package limited
