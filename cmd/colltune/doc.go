// Command colltune finds the fastest way to run a collective on a given GPU
// system.
//
//	colltune search -t dgx-a100 -c allreduce      the winning table, and a campaign folder
//	colltune export campaigns/… --to msccl-xml --out xml
//
// One file a subcommand: it declares flags, calls one room, and prints. Beside
// them: main.go (the tree), exit.go (what became of it, as an exit code),
// settings.go (flags from the environment and files), output.go (tables), legible.go
// (errors), progress.go, interrupt.go, complete.go.
//
// Invariants: results go to standard output and everything else to standard
// error; an error names the flag, file or key and what would be accepted; the
// exit codes are those of the table in exit.go.
//
// It has no logic of its own: the packages below search, compile, run and export.
package main
