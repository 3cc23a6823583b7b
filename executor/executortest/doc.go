// Package executortest has executors with one fault each, launchers, and what tests of
// hosts need to await the end of processes. Its Main is the TestMain of such tests: the test
// binary is each of these executors, by its name.
package executortest
