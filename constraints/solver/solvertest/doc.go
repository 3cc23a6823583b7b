// Package solvertest opens solvers for tests. Only tests import it.
package solvertest
