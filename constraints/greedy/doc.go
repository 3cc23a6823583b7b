// Package greedy routes allgather, reducescatter and allreduce on systems of
// hundreds and thousands of ranks, in seconds: it gives every link, as soon as it
// is free, something its receiver lacks.
//
//	s, err := greedy.Route(ctx, topo, greedy.Options{Bytes: 1 << 30, Chunks: 1})
//	s.TimeUS          10004 on mesh:4x4@50GiB/s,0.5us
//	s.Gap()           0.067: no schedule takes less than 9375
//	s.Sends[0]        chunk 0 from rank 0 to rank 4, from 0 to 1250.5 us
//
// The model is α-β, over the edges of a topology: a message of b bytes takes
// every edge of its path for b over the edge's bandwidth, and arrives when it has
// passed the narrowest, after the latencies of all. With Blocking an edge is taken
// for its latency as well (TACOS counts so), with Pipelined it is not (TE-CCL).
// Ranks store before they forward. A message costs nothing but that.
//
//	asynchronous   every link picks by itself what to send next       pick.go
//	breadth first  from rank to rank by distance, links evenly loaded  shells.go
//	matching       each rank's chunks to messages that are in time     matched.go
//	local search   a message takes another link, or another turn       improve.go
//
// The best of them over some numbers of chunks and tries is what Route
// returns. A try learns from the best before it what came late.
//
// Invariants: the same seed gives the same schedule; Check replays a schedule by
// the topology alone; a routing ends with its context, wherever it is, and returns
// the best schedule that was whole by then. Nothing here is optimal but by luck: the gap to the bound
// of package bounds says how far it can be off.
package greedy
