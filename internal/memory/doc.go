// Package memory keeps a command and the processes it has started within a limit of
// memory, so that the command ends with an error before the system kills it.
//
//	limit := memory.Default()                      12G on a machine of 16 GiB
//	stop := memory.Guard(limit, func(e *memory.Exceeded) { cancel(e) }, exit)
//	defer stop()
//
//	used     ──────────────────────────────────────────▶
//	           Go collects more eagerly ┤   limit: over ┤   ├ a quarter more: gone
//
// Callers refuse work that would need too much memory where they can foresee it; the
// guard is for the rest. Only on Linux does it count other processes: those that
// package child has started, with their descendants.
package memory
