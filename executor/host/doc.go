// Package host starts an executor in a process of its own, hands it trials, watches them,
// and ends it: the near end of the protocol.
//
//	Host.Run ▸ Worker.Run ▸ Load, what the process lacks ▸ Run ── gRPC over a private socket ──▶ executor
//	 │           │                                          ◀── heartbeat… measurement ──
//	 │           └ watch.go: the deadline, heartbeats, progress
//	 └ a process that died: started again, the trial tried once more
//
//	options.go, starter.go   what to start, and how often
//	host.go                  Host.Run: tries; a hung process is ended (dropWorker), one that
//	                         died is started again
//	trial.go                 Worker.Run: one trial: Load, Run, and the call's errors
//	watch.go                 Worker.call: sends Run, receives heartbeats and the measurement;
//	                         a TimeoutError when a trial is given up
//	worker.go                one process, from handshake to goodbye
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
