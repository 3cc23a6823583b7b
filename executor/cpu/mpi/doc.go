// Package mpi is the part of MPI that executor/cpu needs to run a program over several
// processes: non-blocking point-to-point messages.
//
//	world, err := mpi.Join()                  after mpirun, mpiexec or srun
//	r, err := world.Receive(buffer, from, tag)
//	s, err := world.Send(bytes, to, tag)
//	done, err := world.Done(r)                ask again later
//
// The library is loaded at run time, whichever started the processes: Open MPI,
// whose handles are addresses of its own variables, or MPICH and those of its
// binary interface, whose handles are numbers.
//
// Invariants: all calls come from the goroutine that called Join, which is locked to its
// thread; errors have MPI's own text; the caller leaves the buffers of messages under way
// alone.
//
// It has no collectives.
package mpi
