// Package mpi is as much of MPI as executor/cpu needs to run a program over
// several processes: bytes from one process to another, without waiting.
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
// Invariants: all calls come from the one goroutine that called Join, which is
// locked to its thread; what a call reports is an error with MPI's own text;
// buffers of calls under way are the caller's to keep and not to touch.
//
// It knows no collectives: those are what is measured.
package mpi
