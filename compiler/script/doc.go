// Package script is the Starlark front end of the chunk language: it loads a
// template, evaluates where it applies and its number of chunks, and traces its
// program for a machine (GC3 sections 3 and 5.1).
//
//	"""Ring AllGather: every chunk goes round once."""
//
//	family(
//	    name = "my-ring",
//	    collectives = ["allgather"],
//	    parameters = {"channels": choice(1, 2, doc = "channels of the ring")},
//	)
//
//	def program(topo, p):
//	    for r in range(topo.ranks):
//	        c = chunk(r, "in", 0).copy(r, "out", r)
//	        for step in range(1, topo.ranks):
//	            c = c.copy((r + step) % topo.ranks, "out", r, ch = r % p.channels)
//
// Load evaluates a template in this process, with limits on steps and operations;
// LoadApart in a child, with limits on memory and time as well (limits.go). Built-in
// families are loaded in the first way, users' templates in the second. What a child
// answers is checked, and its operations are traced once more (message.go).
//
// Invariants: a template sees nothing but its arguments and the modules of the
// library it was loaded with; running it twice gives the same program; every error
// has a position in the template's text.
//
// A template may also say what its program costs (cost.go), and define the
// collective that it implements (custom.go).
//
// template.go traces a program, by evaluating it (program.go); worker.go has a child do
// so, which answers in serve.go. limits.go and budget.go say how far a template may go.
//
// It knows no families and no topologies: a machine is a number of ranks in
// nodes and a function that reports whether two of them are linked. The
// language is described in docs/language.md.
package script
