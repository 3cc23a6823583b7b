// Package host starts an executor in a process of its own, hands it trials, watches them,
// and ends it: the near end of the protocol.
//
//	Host.Run ▸ Worker.Run ▸ Load, what the process lacks ▸ Run ── gRPC over a private socket ──▶ executor
//	 │           │                                          ◀── heartbeat… measurement ──
//	 │           └ watch.go: the deadline, heartbeats, progress
//	 └ a process that died: started again, the trial tried once more; a program that
//	   killed two: quarantined
//
//	options.go, starter.go   what to start, and how often
//	host.go                  Run: what follows a crash or a hang: the process is ended and
//	                         started again, the trial repeated once
//	worker.go, trial.go      one process: handshake, description, trials, goodbye
//	watch.go                 one call: ErrTimeout, when a trial is given up
//	process.go, sockets.go   the process's group, memory, output and end (Kill); the folder of
//	                         its socket
//
// The far end answers the calls in executor/serve/server.go.
//
// Invariants: one call a trial, with a deadline; whatever an executor does, Run returns an
// error of package executor; nothing of an executor outlives its host, neither process nor
// grandchild nor socket, also if the host is killed (package serve does its part).
//
// It does not choose what to run: that is package autotune.
package host
