// Package results keeps what a search finds: the campaign folder, its plan, and the
// journal of its trials. The rooms below read it: package table makes the winning
// table, package export the files that runtimes load, package report a page.
//
//	campaigns/dgx-a100-1x-allreduce/
//	  campaign.toml           the plan: what defines the search; written first, whole
//	  trials.jsonl            one line a record, chained by checksums, appended and synced
//	  programs/<hash>.json    the IR of every program that a trial names
//	  candidates/<key>.json.gz  what the search enumerated, for one that goes on; may be missing
//	  lock                    held while a process writes; names it
//
// A map is the campaigns of one search over several numbers of nodes, in one folder with a
// list of them (map.go, mapmake.go, maplist.go).
//
//	results ──▶ table ──▶ export
//	                 └──▶ report
//
// Invariants: a campaign can be killed at any byte and goes on where it was; a
// torn last line is lost alone. A record is in the journal before it counts,
// and a program is in the folder before a trial names it. Trials made under another
// fingerprint stay in the journal and never enter a table. A plan or a journal that
// was changed is refused, and the error names the line.
//
// A search that goes on reads campaign.toml and trials.jsonl (open.go), and its
// candidates (cache.go). Package search makes the problem of the plan (FromPlan), and
// takes candidates in its own cache.go.
//
// It does not decide what to run (package autotune), and it runs nothing.
package results
