// Package executor runs an IR and times it, in a process that may crash, hang
// or lie without hurting the campaign.
//
//	host ── Describe, Run(trial) ──▶ gRPC over a private socket ──▶ back end
//	     ◀── heartbeat…, measurement ──                             (sim, …)
//
// Invariants: one call a trial, with a deadline; a back end that dies is
// started again and the trial's failure is a result of its own; nothing of a
// back end outlives its host.
//
// It does not choose what to run: that is package autotune.
package executor
