package cuda

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/topologies"
)

// said is a rank's parts as a reader would write them: what goes to whom as ▸,
// what comes from whom as ◂.
func (x *exchange) said(p *ir.Program, rank int) string {
	var lines []string
	for _, one := range x.parts[rank] {
		line := ""
		if one.does&partReads != 0 {
			line += fmt.Sprintf(" %s[%d]", one.src.Buf, one.src.Off)
		}
		if one.does&partAdds != 0 {
			line += fmt.Sprintf(" + %s[%d]", one.dst.Buf, one.dst.Off)
		}
		for k := range one.comes + one.goes {
			a := x.arms[rank][one.first+k]
			tb := p.GPUs[rank].Threadblocks[a.threadblock]
			if k < one.comes {
				line += fmt.Sprintf(" ◂%d", tb.Recv)
			} else {
				line += fmt.Sprintf(" ▸%d", tb.Send)
			}
			if one.does&partApart != 0 {
				line += fmt.Sprintf("=%s[%d]", a.loc.Buf, a.loc.Off)
			}
		}
		if one.does&partWrites != 0 {
			line += fmt.Sprintf(" = %s[%d]", one.dst.Buf, one.dst.Off)
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "; ")
}

// smallTrial is one whose messages are a line for each of few threads.
func smallTrial(p *ir.Program, top *topologies.Topology, proto topologies.Proto) executor.Trial {
	return executor.Trial{Program: p, Topology: top, Bytes: int64(16 * p.Ranks()), Protocol: proto, DType: "f32", Op: "sum", Iters: 1, Seed: 3}
}

// TestPartsOfFamilies has the parts of programs be as few as they may.
func TestPartsOfFamilies(t *testing.T) {
	f := &figures{t: t}
	all := map[string]*ir.Program{}
	for _, one := range families(t, 1, 4, topologies.LL) {
		all[one.name] = one.program
	}
	all["one phase"] = f.overRanks(4, "all-pairs", "allreduce", map[string]any{"phases": 1}, 1)
	for name, want := range map[string]string{
		"one phase":                        "in[0] ▸1 ▸2 ▸3; in[0] ◂1 ◂2 ◂3 = in[0]",
		"all-pairs/allreduce/1x4/in-place": "▸1=in[1] ▸2=in[2] ▸3=in[3]; in[0] ◂1 ◂2 ◂3 ▸1 ▸2 ▸3 = in[0]; ◂1=in[1] ◂2=in[2] ◂3=in[3]",
		"all-pairs/reducescatter/1x4":      "▸1=in[1] ▸2=in[2] ▸3=in[3]; in[0] ◂1 ◂2 ◂3 = out[0]",
		"ring/allreduce/1x4/in-place":      "in[3] ▸1; in[2] ◂3 ▸1; in[1] ◂3 ▸1; in[0] ◂3 ▸1 = in[0]; ◂3 ▸1 = in[3]; ◂3 ▸1 = in[2]; ◂3=in[1]",
	} {
		p, err := newPlan(smallTrial(all[name], system(t, "fullmesh:4"), topologies.LL), 1)
		if err != nil || p.exchange == nil {
			t.Errorf("%s: no exchange, %v", name, err)
			continue
		}
		if got := p.exchange.said(all[name], 0); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// TestWhatIsNoExchange refuses what one block would be wrong or slow with.
func TestWhatIsNoExchange(t *testing.T) {
	change := func(f func(*executor.Trial)) executor.Trial {
		trial := smallTrial(pair(), system(t, "fullmesh:2"), topologies.LL)
		trial.Program = pingPong(3)
		f(&trial)
		return trial
	}
	for name, tc := range map[string]struct {
		trial executor.Trial
		is    bool
	}{
		"small messages":             {change(func(*executor.Trial) {}), true},
		"counters":                   {change(func(c *executor.Trial) { c.Protocol = topologies.Simple }), false},
		"half a word":                {change(func(c *executor.Trial) { c.Bytes = 36 }), false},
		"more lines than threads":    {change(func(c *executor.Trial) { c.Bytes = 16 << 10 }), false},
		"several tiles":              {change(func(c *executor.Trial) { c.Bytes, c.TileBytes = 256, 64 }), false},
		"more messages than slots":   {change(func(c *executor.Trial) { c.Program = pingPong(9) }), false},
		"many messages":              {change(func(c *executor.Trial) { c.Program = pingPong(40); c.Topology.Protocols[0].Slots = 64 }), false},
		"slots that are no power":    {change(func(c *executor.Trial) { c.Topology.Protocols[0].Slots = 6 }), false},
		"several chunks a step":      {change(func(c *executor.Trial) { c.Program = pair() }), false},
		"ranks that both wait first": {change(func(c *executor.Trial) { c.Program = receiversOnly() }), false},
	} {
		p, err := newPlan(tc.trial, 1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if (p.exchange != nil) != tc.is {
			t.Errorf("%s: an exchange: %t", name, p.exchange != nil)
		}
	}
}

// TestInOrder has steps come after all that they wait for, and none be missing, in
// programs of every family.
func TestInOrder(t *testing.T) {
	for _, f := range families(t, 2, 2, topologies.LL) {
		order, at := inOrder(f.program), map[[3]int]int{}
		if order == nil {
			t.Fatalf("%s: no order", f.name)
		}
		for r, steps := range order {
			for i, s := range steps {
				at[[3]int{r, s.threadblock, s.step}] = i
			}
		}
		for r, g := range f.program.GPUs {
			steps := 0
			for id, tb := range g.Threadblocks {
				steps += len(tb.Steps)
				for i, s := range tb.Steps {
					mine := at[[3]int{r, id, i}]
					if i > 0 && at[[3]int{r, id, i - 1}] >= mine {
						t.Errorf("%s: rank %d threadblock %d step %d comes before the one before it", f.name, r, id, i)
					}
					for _, d := range s.Deps {
						if at[[3]int{r, int(d.TB), int(d.Step)}] >= mine {
							t.Errorf("%s: rank %d threadblock %d step %d comes before what it depends on", f.name, r, id, i)
						}
					}
				}
			}
			if len(order[r]) != steps {
				t.Errorf("%s: rank %d has %d steps in order, of %d", f.name, r, len(order[r]), steps)
			}
		}
	}
	if inOrder(receiversOnly()) != nil {
		t.Error("two ranks that both receive first have an order")
	}
}

// TestExchanges draws programs of small messages: a block a rank and a block a
// threadblock are both right, launch after launch, on one device and on several.
func TestExchanges(t *testing.T) {
	draws(t, 50)
	exchanges, top := 0, system(t, "ring:4")
	machines := map[int]*hostMachine{1: newHostMachine(t, 1, 2, "plain"), 3: newHostMachine(t, 3, 2, "plain")}
	programs := map[topologies.Proto][]family{}
	for _, proto := range []topologies.Proto{topologies.LL, topologies.LL128} {
		programs[proto] = append(families(t, 2, 2, proto), families(t, 1, 4, proto)...)
	}
	rapid.Check(t, func(r *rapid.T) {
		proto := rapid.SampledFrom([]topologies.Proto{topologies.LL, topologies.LL128}).Draw(r, "protocol")
		f := rapid.SampledFrom(programs[proto]).Draw(r, "program")
		trial := smallTrial(f.program, top, proto)
		trial.Op = rapid.SampledFrom([]string{"sum", "prod", "min", "max", "avg"}).Draw(r, "operation")
		trial.Iters = rapid.SampledFrom([]int{1, 1, 9}).Draw(r, "launches")
		devices := rapid.SampledFrom([]int{1, 3}).Draw(r, "devices")
		p, err := newPlan(trial, devices)
		if err != nil {
			r.Fatal(err)
		}
		for _, apart := range []bool{false, true} {
			s := patient()
			s.blocks = apart
			got, err := runPlan(t.Context(), machines[devices], s, trial, p)
			if err != nil || got.Wrong != 0 {
				r.Fatalf("%s, apart %t: %d wrong, %v", f.name, apart, got.Wrong, err)
			}
			switch exchanged := strings.Contains(got.Note, "a block a rank"); {
			case exchanged && apart:
				r.Fatalf("%s by threadblocks: %s", f.name, got.Note)
			case exchanged:
				exchanges++
			}
		}
	})
	if exchanges == 0 {
		t.Error("no program drawn was run as an exchange")
	}
}

// TestStuckExchangeSaysWho has a report of an exchange name the program's own
// threadblock and step.
func TestStuckExchangeSaysWho(t *testing.T) {
	trial := smallTrial(pingPong(3), system(t, "fullmesh:2"), topologies.LL)
	p, err := newPlan(trial, 1)
	if err != nil {
		t.Fatal(err)
	}
	// The last but one of rank 1 sends twice. Without the second, rank 0 alone is
	// stuck; without both, so is rank 1, and either may be the first to say so.
	parts := p.exchange.parts[1]
	parts[len(parts)-2].goes--
	m := newHostMachine(t, 1, 4, "plain")
	s := defaults()
	for s.watchdog = time.Second; ; s.watchdog *= 4 { // a busy machine may have others wait as long
		_, err := runPlan(t.Context(), m, s, trial, p)
		if err != nil && strings.Contains(err.Error(), fmt.Sprintf("rank 0 threadblock 0 step 7, tile 0, has waited %v for a message of rank 1", s.watchdog)) {
			return
		}
		if !errors.As(err, new(*StuckError)) || s.watchdog > time.Minute {
			t.Fatalf("got %v", err)
		}
	}
}
