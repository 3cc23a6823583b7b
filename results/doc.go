// Package results keeps what a search finds: the campaign folder, its journal
// of trials, the winning table made from them, and the exports to the formats
// that runtimes load.
//
//	campaigns/dgx-a100-1x-allreduce/
//	  campaign.toml           the plan: what defines the search; written first, whole
//	  trials.jsonl            one line a record, chained by checksums, appended and synced
//	  programs/<hash>.json    the IR of every program that a trial names
//	  candidates.tar.gz       what the search enumerated, for one that goes on; may be missing
//	  lock                    held while a process writes; names it
//
//	journal ──Build──▶ Table{rows, ranges} ──Write──▶ table · json · csv · md
//	   ├─Curves──▶ package report
//	   ├─Differ──▶ two tables side by side
//	   └─Export──▶ msccl-xml · nccl-tuner-csv · ir · mcr-dl · t4
//
// Invariants: a campaign can be killed at any byte and goes on where it was; a
// torn last line is lost alone. A record is in the journal before it counts,
// and a program is in the folder before a trial names it. Equal trials give
// equal tables and exports, byte for byte, whatever the order they were made
// in; only the seconds spent differ. Trials made under another fingerprint
// stay in the journal and never enter a table. A plan or a journal that was changed
// is refused, and the error names the line.
//
// It does not decide what to run (package autotune), and it runs nothing.
package results
