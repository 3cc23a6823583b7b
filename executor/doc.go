// Package executor runs an IR and times it, in a process that may crash, hang
// or lie without hurting the campaign.
//
//	host ── Describe, Load, Run(trial) ──▶ gRPC over a private socket ──▶ executor
//	     ◀── heartbeat…, measurement ──                                   (sim, …)
//
// Start gives a Host, which is an Executor; Serve is the other end's main:
//
//	executor.RegisterBuiltin("sim", sim.New)
//	executor.Dispatch(os.Args) // never returns in the child
//	h, err := executor.Start(ctx, "sim", executor.HostOptions{})
//
// A trial is of a program, or of a native algorithm (Native): one of the vendor's
// library, run in place of a program. The
// user's settings may name executors (Configure): with an environment, a cap, or
// a launcher such as mpirun, at whose other end they run:
//
//	host ──▶ executor-launch ── the launcher's standard streams ──▶ executor-serve-stdio
//
// CheckProtocol holds any executor to the protocol; docs/plugins.md is for those who
// write one.
//
// Invariants: one call a trial, with a deadline; an executor that dies is
// started again and the trial's failure is a result of its own; a program that
// kills two executors is run no more; nothing of an executor outlives its host,
// neither process nor grandchild nor socket.
//
// It does not choose what to run: that is package autotune.
package executor
