// Package cost estimates what a traced program takes, before it is compiled.
//
//	program ─▶ Messages: what connections and edges carry ─┐
//	        ─▶ Summarize: and the critical path, and ──────┴▶ Summary ─▶ Estimate, Tiled: µs at a size
//	           the work within ranks
//
// A Summary is of one instance, and of a topology; an estimate is of a number of instances with a
// protocol and a tile. Estimates rank programs and prove nothing: see constraints/bounds for
// what no program can beat.
//
// Files, in an order to read them in: instance.go schedule.go critical.go summary.go
// summary_json.go estimate.go
package cost
