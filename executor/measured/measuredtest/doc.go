// Package measuredtest reads measured times from text, for tests, and has the outputs of two
// programs to read.
package measuredtest
