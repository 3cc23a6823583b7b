// Package greedy schedules allgather, reducescatter and allreduce on systems of hundreds
// and thousands of ranks, in seconds: each link, as soon as it is free, sends a chunk that
// its receiver lacks (as TACOS, arXiv 2304.05301).
//
//	s, err := greedy.Route(ctx, topo, greedy.Options{Bytes: 1 << 30})
//	s.TimeUS          10004 on mesh:4x4@50GiB/s,0.5us
//	s.Gap()           0.067: no schedule takes less than 9375
//	s.Sends[0]        chunk 2 from rank 2 to rank 3, from 0 to 1250.5 us
//
// The model is α-β, over the edges of a topology: a message of b bytes occupies every edge
// of its path for b over the edge's bandwidth and its latency, and arrives when it has passed
// the narrowest edge, after the latencies of all edges. Ranks store and forward.
//
//	asynchronous   each link picks the chunk to send when it is free     async.go
//	breadth first  from rank to rank by distance, with balanced links    bfs.go
//	matching       assigns each rank's chunks to messages in time        matching.go
//	local search   moves messages to other links or positions            improve.go
//
// Route returns the best schedule of all methods over several tries. A try prefers chunks that
// arrived late in the best try before it. Each rank's part is one chunk.
//
// Invariants: the same call gives the same schedule; Check replays a schedule by the
// topology alone; Route ends with its context and returns the best complete schedule by
// then. Schedules are not optimal in general: Gap is the distance to the bound of package
// bounds.
package greedy
