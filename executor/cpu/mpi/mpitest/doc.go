// Package mpitest finds the MPI implementations that tests can start processes with.
//
// It is a package of its own, for executortest adds its faulty executors to every program
// that imports it.
package mpitest
