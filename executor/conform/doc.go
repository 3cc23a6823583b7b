// Package conform holds an executor to the protocol: the cases of `executor check`.
//
//	description, checks, err := conform.Run(ctx, "./my-executor", host.Options{})
//
//	conform.go   the description, documents, what to refuse before any trial
//	trials.go    a trial of all that the executor claims; heartbeats, cancelling, goodbye
//	calls.go     trials and calls for them
//
// Each case asks one question. An executor that dies in one is started again for the next.
package conform
