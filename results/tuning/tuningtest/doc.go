// Package tuningtest reads tuning files as the libraries that load them do, for tests of those
// who write them: which entry wins, at which byte a range ends, for which ranks, and what
// happens where no entry matches. It does no more, and knows nothing of the rules.
//
// Reading is bounded, and an error names file and line.
package tuningtest
