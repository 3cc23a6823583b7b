// Package executor says what an executor is: it runs an IR and times it, in a process that
// may crash, hang or lie without hurting the campaign.
//
//	autotune ──▶ host ── Describe, Load, Run(trial) ──▶ serve ──▶ sim, cpu, cuda, nccl, replay, a plug-in
//	             ◀── heartbeat…, measurement ──
//
// There a trial goes from Host.Run (host/host.go) by Worker.Run (host/trial.go) to server.Run
// (serve/server.go), and its measurement comes back in Worker.call (host/watch.go).
//
// An Executor describes itself and runs trials: a program, or a native algorithm (Native)
// of the vendor's library in place of one, at one size with one set of knobs. The user's
// settings may name executors (Configure), with an environment, a cap, or a launcher such
// as mpirun.
//
//	executor.go, describe.go, native.go   an executor, its description, trials, measurements
//	errors.go                             how a trial ends without a measurement
//	builtin.go, configured.go, find.go    which executors there are, and how each is started
//	pool.go                               several that are alike
//	progress.go, doctor.go                for those who write one
//
// Below it: host starts one in a process of its own; serve is that process's main;
// protocol and wire are what they speak; conform checks an executor against it. docs/plugins.md is for
// those who write one.
//
// Invariants: an executor that dies is started again, and the trial's failure is a result of
// its own; a program that kills two executors is run no more.
//
// It does not choose what to run: that is package autotune.
package executor
