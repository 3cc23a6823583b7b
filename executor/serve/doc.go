// Package serve is the far end of the protocol: the main of an executor's process.
//
//	func main() { serve.Main(myExecutor{}) }           a plug-in in Go
//
//	executor.RegisterBuiltin("mine", mine.New)         a binary with executors of its own
//	serve.Dispatch(os.Args)                            never returns in the executor's process
//
// server.go answers the host's calls: Run sends heartbeats while the executor works, and
// then the measurement.
//
// An executor that is launched, by mpirun, srun or ssh, is served over standard streams:
//
//	host ──▶ executor-launch ── the launcher's standard streams ──▶ executor-serve-stdio
//	         launch.go          frames.go                           stdio.go: the executor
//
// Invariants: standard output belongs to the handshake, and what libraries print goes to
// standard error; one trial at a time; a process whose host is gone ends all that it has
// started (orphan.go), and so does a far end whose input ends or whose host is silent.
package serve
