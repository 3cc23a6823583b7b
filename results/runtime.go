package results

import "github.com/colltune/colltune/compiler/ir"

// Runtime is a reader of exported programs, as far as the choice of what to
// export to it goes.
type Runtime struct{ Name string }

// Runtimes lists the readers that there is an export for.
func Runtimes() []Runtime { return nil }

// Runs says why the runtime would not run a program at a size.
func (r Runtime) Runs(loopChunks, maxCount int, protocol string, tile, bytes, elem int64) string {
	return ""
}

// Accepts says why the runtime would not load a program.
func (r Runtime) Accepts(p *ir.Program, protocol string) string { return "" }
