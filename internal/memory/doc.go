// Package memory keeps a command and all that it has started within a limit of
// memory, so that the command ends with an error and not by the system's choice.
//
//	limit := memory.Default()                      12G on a machine of 16 GiB
//	stop := memory.Guard(limit, func(e *memory.Exceeded) { cancel(e) }, exit)
//	defer stop()
//
//	used     ──────────────────────────────────────────▶
//	           Go collects more eagerly ┤   limit: over ┤   ├ a quarter more: gone
//
// What is to be refused for want of memory is for the callers to foresee; the guard
// is for what nobody foresaw. Only on Linux does it see what other processes use, and
// it counts those that package child has started, with their descendants.
package memory
