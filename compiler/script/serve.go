package script

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/internal/child"
)

// workerName is the name under which children evaluate templates.
const workerName = "template"

func init() { child.Register(workerName, serve) }

// parent is the process that a child works for.
type parent struct {
	mu     sync.Mutex // a run that could not be stopped may still send
	conn   *child.Conn
	ended  bool // nothing more is sent
	lines  bool // send every line
	last   lang.Pos
	budget *Budget

	links map[[2]int]linkSet // of the machine, by rank and 1/64 of the other one's
	asked map[int]int        // by rank: how often its links were asked for
}

// linkSet is what is known of the links of a rank to 64 others: a bit for each.
type linkSet struct{ known, linked uint64 }

// serve evaluates a template for the parent, until it closes the connection.
func serve(c *child.Conn) error {
	debug.SetGCPercent(100) // whatever GOGC says: what lives is known after collections
	up := &parent{conn: c}
	var p *program
	var t *Template
	for {
		text, err := c.Receive()
		if err != nil {
			return err
		}
		var q ask
		if err := json.Unmarshal(text, &q); err != nil {
			return err
		}
		up.lines, up.last = q.Lines, lang.Pos{}
		var a answer
		if q.Function == "load" {
			p = &program{file: q.File, limits: q.Limits, parent: up}
			if a.Declared, err = p.load(q.Source, q.Library, up.print); err == nil {
				t = newTemplate(q.File, a.Declared, up.print, p)
			}
		} else if t == nil {
			err = errors.New("no template is loaded")
		} else {
			err = a.evaluate(&q, t, p)
		}
		if err != nil {
			a.Errors, a.Stuck = faultsOf(err), errors.Is(err, errLeft)
		}
		if err := up.answer(&a); err != nil || a.Stuck {
			return err
		}
	}
}

func (a *answer) evaluate(q *ask, t *Template, p *program) (err error) {
	up := p.parent
	if !q.Same {
		up.links, up.asked = map[[2]int]linkSet{}, map[int]int{}
	}
	m := Machine{Nodes: len(q.GPUs), GPUsPerNode: q.GPUs}
	if !q.Linked {
		m.Linked = func(a, b int) bool { return up.linked(a, b, m.Ranks()) }
	}
	up.budget = q.Budget.budget()
	c, err := t.WithBudget(up.budget).prepare(m, q.Request, q.Params)
	if err != nil {
		return err
	}
	if q.Function == "trace" {
		a.End, err = up.trace(p, c)
	} else {
		a.result, err = p.evaluate(q.Function, c)
	}
	a.Steps = up.budget.since(q.Budget)
	return err
}

// trace sends the operations of a program while it runs, and returns where it ended.
func (up *parent) trace(p *program, c *call) (lang.Pos, error) {
	var record *lang.Record
	var piece []byte
	send := func(least int) {
		for record.Len() >= least {
			piece = record.Append(piece[:0], pieceOps)
			up.send(frameOps, piece)
		}
	}
	trace, err := p.record(c, func(coll collective.Collective) *lang.Trace {
		trace := c.newTrace(coll)
		record = trace.Record()
		up.sendJSON(frameBegin, beginning{coll.Chunks, coll.Custom})
		return trace
	}, func() { send(pieceOps) })
	if record != nil {
		send(1)
	}
	if err != nil {
		return lang.Pos{}, err
	}
	return trace.Pos(), nil
}

func (up *parent) print(text string) { up.send(framePrint, []byte(text)) }

// at tells where the program is, if the parent wants to know.
func (up *parent) at(p lang.Pos) {
	if p.File != up.last.File || p.Line != up.last.Line {
		up.last = p
		up.send(frameAt, appendAt(nil, p))
	}
}

// linked reports whether a rank can send to another.
func (up *parent) linked(from, to, ranks int) bool {
	if set := up.links[[2]int{from, to / 64}]; set.known>>(to%64)&1 == 1 {
		return set.linked>>(to%64)&1 == 1
	}
	// The more of a rank's links are asked for, the more of them at once. Of a very
	// large machine few are.
	first, n := to/64*64, min(64<<(2*up.asked[from]), maxLinks)
	if ranks > maxLinks {
		first, n = to, 1
	}
	n = min(n, ranks-first)
	up.asked[from] = min(up.asked[from]+1, 8)
	var q []byte
	for _, v := range []int{from, first, n} {
		q = binary.AppendUvarint(q, uint64(v))
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	if up.ended || up.write(frameLinks, q) != nil {
		return false
	}
	bits, err := up.conn.Receive()
	if err != nil || len(bits) != (n+7)/8 {
		return false
	}
	for i := range n {
		at, bit := [2]int{from, (first + i) / 64}, uint64(1)<<((first+i)%64)
		set := up.links[at]
		if set.known |= bit; bits[i/8]>>(i%8)&1 == 1 {
			set.linked |= bit
		}
		up.links[at] = set
	}
	return up.links[[2]int{from, to / 64}].linked>>(to%64)&1 == 1
}

// send sends a frame, unless the child is about to end. If the parent is gone, so will
// this process be.
func (up *parent) send(kind byte, payload []byte) {
	up.mu.Lock()
	defer up.mu.Unlock()
	if !up.ended {
		_ = up.write(kind, payload)
	}
}

func (up *parent) write(kind byte, payload []byte) error {
	return up.conn.Send(append([]byte{kind}, payload...))
}

func (up *parent) sendJSON(kind byte, v any) {
	if text, err := json.Marshal(v); err == nil {
		up.send(kind, text)
	}
}

// answer sends the answer. After that of a run that could not be stopped, nothing is
// sent any more.
func (up *parent) answer(a *answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	up.ended = a.Stuck
	return up.write(frameAnswer, text)
}
