// Package child runs a piece of this program in a process of its own: the same
// binary, started again with a hidden first argument, so that a crash in a C library,
// a hang or a leak ends that process alone.
//
//	func init() { child.Register("solver", func(c *child.Conn) error { … }) }
//	func main() { child.Dispatch(os.Args); … }          first thing in main, and in TestMain
//
//	p, err := child.Start(child.Options{Name: "solver", Memory: 2 << 30})
//	p.Send(question); answer, err := p.Receive(ctx, 1<<20)
//
//	 parent                          child
//	   │ Send    ── length, bytes ──▶  Conn.Receive
//	   │ Receive ◀── length, bytes ──  Conn.Send
//	   │ Tail    ◀── last 16 KiB ────  standard error, and what C prints
//	   │ Kill    ── SIGKILL, to the whole group
//
// Invariants: a child never outlives its parent (a signal where the kernel sends
// one, else the parent's pid, looked at twice a second); it has a process group
// of its own, so that Ctrl-C reaches only the parent and Kill reaches all that
// the child started; a frame is never longer than the receiver said it takes; a
// child starts no children.
//
// Package executor starts its own processes, which speak another protocol, and uses the
// parts of this one:
//
//	group.go    Group: a command at the head of a process group
//	parent.go   a process that ends with its parent, and all that it started
//	orphans.go  what escapes its group: adopted, and known by a mark (Linux)
//	watch.go    how much memory a group uses
//	streams.go  a protocol over standard streams that libraries print to
//
// It restarts no child and does not interpret the frames.
package child
