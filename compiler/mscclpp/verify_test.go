package mscclpp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/verify"
)

func read(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return p
}

// TestVerify changes the example, one thing at a time.
func TestVerify(t *testing.T) {
	const (
		handshake = `   {"name": "rlxsignal", "channel_ids": [0], "channel_type": "memory"}, {"name": "rlxwait", "channel_ids": [0], "channel_type": "memory"}, {"name":"nop"},` + "\n"
		put       = `   {"name": "put", "channel_ids": [0], "channel_type": "memory", "src_buff": [{"type": "i", "index": 0, "size": 2}], "dst_buff": [{"buffer_id": 0, "index": 0, "size": 2}]},` + "\n"
		signal    = `   {"name": "signal", "channel_ids": [0], "channel_type": "memory"},` + "\n"
		wait      = `   {"name": "wait", "channel_ids": [0], "channel_type": "memory"},` + "\n"
		nop       = `   {"name": "nop"},` + "\n"
	)
	asPacket := []string{`"protocol": "Simple"`, `"protocol": "LL"`}
	for range 2 {
		asPacket = append(asPacket, put+nop+signal+wait+nop, strings.Replace(put, `"put"`, `"ppkt"`, 1), `"name": "re", "src`, `"name": "repkt", "src`)
	}
	// Scratch in two halves, of which a rank finds the second of another by its own.
	halves := []string{`"inplace": true`, `"inplace": true, "use_double_scratch_buffer": true`}
	uneven := append(append([]string{`{"id": 1, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 2`, `{"id": 1, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 3`}, halves...), asPacket...)
	asPort := []string{}
	for range 2 {
		asPort = append(asPort, handshake, strings.ReplaceAll(handshake, "memory", "port"),
			put+nop+signal+wait, strings.NewReplacer(`"put"`, `"pws"`, "memory", "port").Replace(put)+strings.Replace(wait, "memory", "port", 1),
			`[{"channel_type": "memory", "connected`, `[{"channel_type": "port", "connected`,
			`"access_channel_types": ["memory"]`, `"access_channel_types": ["port"]`,
			`[{"channel_type": "memory", "channel_ids"`, `[{"channel_type": "port", "channel_ids"`,
			`"access_channel_type": "memory"`, `"access_channel_type": "port"`)
	}
	// What a port is to put is made in scratch, and made again: before the port
	// has read it, if nothing is flushed.
	again := func(flush string) (pairs []string) {
		const (
			aside = `   {"name": "copy", "src_buff": [{"type": "i", "index": 0, "size": 2}], "dst_buff": [{"type": "s", "index": 2, "size": 2}]},` + "\n"
			first = `"src_buff": [{"type": "i", "index": 0, "size": 2}]`
		)
		onPort := strings.NewReplacer("memory", "port", first, `"src_buff": [{"type": "s", "index": 2, "size": 2}]`).Replace
		for range 2 {
			pairs = append(pairs, `"scratch_chunks": 2`, `"scratch_chunks": 4`,
				handshake, aside+onPort(handshake), put, onPort(put)+flush+nop+aside, signal, onPort(signal), wait, onPort(wait),
				`[{"channel_type": "memory", "connected`, `[{"channel_type": "port", "connected`,
				`"access_channel_types": ["memory"]`, `"access_channel_types": ["port"]`,
				`[{"channel_type": "memory", "channel_ids"`, `[{"channel_type": "port", "channel_ids"`,
				`"access_channel_type": "memory"`, `"access_channel_type": "port"`)
		}
		return pairs
	}
	// A thread takes what another has taken and given back.
	turns := func(between string) []string {
		sem := func(name, ids string) string {
			return fmt.Sprintf(`   {"name": "sem_%s", "semaphore_ids": [%s]},`, name, ids) + "\n"
		}
		return []string{`"semaphores": []`, `"semaphores": [{"init_value": 1}, {"init_value": 1}]`,
			put, sem("acquire", "0") + sem("release", "0") + between + sem("acquire", "1, 0") + nop + sem("release", "0, 1") + nop + put}
	}
	flush := strings.NewReplacer("wait", "flush", "memory", "port").Replace(wait)
	pipeline := []string{}
	for range 2 {
		pipeline = append(pipeline, handshake+put, handshake+` {"name": "pipeline", "iter_context": {"unit_size": 4096, "num_chunks": 2}, "ops": [`+put, `"reduce_op": "sum"}`, `"reduce_op":"sum"}]}`)
	}
	for _, c := range []struct {
		name  string
		kind  verify.Kind // "" where right
		want  string
		pairs []string
	}{
		{"right", "", "", nil},
		{"as packets", "", "", asPacket},
		{"as packets, by turns", "", "", append(append([]string{}, halves...), asPacket...)},
		{"as packets, by turns, with scratch of two sizes", verify.Malformed, "packets in the scratch of gpu 1, which holds 3 chunks: the runtime finds its second half by gpu 0's own, which holds 2", uneven},
		{"as packets, with scratch of two sizes", "", "", append(append([]string{}, uneven[:2]...), asPacket...)},
		{"into remote scratch by turns", verify.Malformed, "scratch in two halves: the runtime finds the second of packets alone", halves},
		{"over ports", verify.Race, "", append([]string{}, asPort...)},
		{"over ports, the source made again", verify.Race, "both access sc[2]", again("")},
		{"over ports, flushed and the source made again", "", "", again(flush)},
		{"in a pipeline", "", "", pipeline},
		{"no nop before the signal", verify.Race, "both access sc[0] of gpu 1", []string{nop + signal, signal}},
		{"no nop after the wait", verify.Race, "gpu 0 threadblock 0 op 7 (re)", []string{wait + nop, wait}},
		{"a relaxed signal", verify.Race, "both access sc[0]", []string{`"signal"`, `"rlxsignal"`}},
		{"a relaxed wait", verify.Race, "both access sc[0]", []string{`"wait"`, `"rlxwait"`}},
		{"no signal", verify.Deadlock, "gpu 1 threadblock 0 op 6 (wait) waits for memory channel 0 of gpu 1, from gpu 0, and nobody is left to bring it", []string{signal, ""}},
		{"no wait", verify.Race, "2 signals for 1 waits", []string{wait, ""}},
		{"both wait first", verify.Deadlock, "; which gpu 0 threadblock 0 would bring", []string{signal + wait, wait + signal, signal + wait, wait + signal}},
		{"another offset", verify.WrongResult, "out[0] ends as", []string{`{"type": "s", "index": 0, "size": 2}`, `{"type": "s", "index": 1, "size": 1}`, `{"name": "re", "src_buff": [{"type": "i", "index": 0, "size": 2}`, `{"name": "re", "src_buff": [{"type": "i", "index": 0, "size": 1}`, `"dst_buff": [{"type": "i", "index": 0, "size": 2}]`, `"dst_buff": [{"type": "i", "index": 0, "size": 1}]`}},
		{"out of place", verify.WrongResult, "uninitialised memory", []string{`"inplace": true`, `"inplace": false`}},
		{"puts into the input", verify.Race, "nothing says that this has begun", []string{`"rank": 1, "type": "s"`, `"rank": 1, "type": "i"`, handshake, "", handshake, ""}},
		{"no word of the next launch's beginning", verify.Race, "(put) writes sc[0] of gpu 0, where gpu 0 threadblock 0 op 5 (re) of the launch before may still be at it", []string{handshake, "", handshake, ""}},
		{"word that some threads don't hear", verify.Race, "of the launch before may still be at it", []string{`{"name":"nop"},`, ""}},
		{"beyond", verify.Malformed, "put: sc[1:3] of gpu 1, which holds 2 chunks", []string{`{"buffer_id": 0, "index": 0`, `{"buffer_id": 0, "index": 1`}},
		{"sizes", verify.Malformed, "places of 2 and of 1 chunks", []string{`{"type": "i", "index": 0, "size": 2}], "dst_buff": [{"buffer_id"`, `{"type": "i", "index": 0, "size": 1}], "dst_buff": [{"buffer_id"`}},
		{"an operation nobody has", verify.Malformed, "push: unknown operation", []string{`"put"`, `"push"`}},
		{"packets without room", verify.Malformed, "packets under protocol Simple", []string{`"put"`, `"ppkt"`}},
		{"a channel the threadblock lacks", verify.Malformed, "channel_ids 1: the threadblock has 1 memory channels", []string{`"put", "channel_ids": [0]`, `"put", "channel_ids": [1]`}},
		{"a channel the GPU lacks", verify.Malformed, "memory channel 7: gpu 0 has 1", []string{`"channel_type": "memory", "channel_ids": [0]}]`, `"channel_type": "memory", "channel_ids": [7]}]`}},
		{"its own peer", verify.Malformed, "memory channel to rank 0: want another rank below 2", []string{`"connected_to": [1]`, `"connected_to": [0]`}},
		{"a remote buffer for a local one", verify.Malformed, "dst_buff 0 is of its own buffers: want a remote buffer", []string{`{"buffer_id": 0, "index"`, `{"type": "s", "index"`}},
		{"ids out of order", verify.Malformed, "id 1: want 0", []string{`{"id": 0, "input`, `{"id": 1, "input`}},
		{"a semaphore never released", verify.Deadlock, "semaphore 0 of gpu 0: acquired 1 times and released 0", []string{`"semaphores": []`, `"semaphores": [{"init_value": 1}]`, put, `{"name": "sem_acquire", "semaphore_ids": [0]},` + put}},
		{"a semaphore nobody has", verify.Malformed, "semaphore 0: gpu 0 has 0", []string{put, `{"name": "sem_acquire", "semaphore_ids": [0]},` + put}},
		{"a semaphore, thread by thread", "", "", turns(nop)},
		{"a semaphore that two threads are at", verify.Race, "sem_acquire: two of its threads take from semaphore 0 of gpu 0", turns("")},
		{"a barrier alone", "", "", []string{nop, `{"name": "barrier", "barrier_id": 0, "num_threadblocks": 1},` + nop}},
		{"a barrier for two", verify.Malformed, "barrier 0 of 2 threadblocks, and 1 come to it", []string{nop, `{"name": "barrier", "barrier_id": 0, "num_threadblocks": 2},` + nop}},
		{"too many chunks", verify.Limit, "chunks in all buffers", []string{`"scratch_chunks": 2`, `"scratch_chunks": 2000000000`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "over ports" {
				// The put's source may still be read when the next writes there.
				c.want = "both access in[0]"
			}
			v := Verify(read(t, change(t, c.pairs...)), verify.Options{})
			switch {
			case c.kind == "" && !v.OK():
				t.Error(v.Report.Err())
			case c.kind != "" && (!v.Report.Has(c.kind) || !strings.Contains(fmt.Sprint(v.Report.Err()), c.want)):
				t.Errorf("found %v; want %s: … %s …", v.Report.Err(), c.kind, c.want)
			}
		})
	}
}

// TestAccepts holds the runtime's limits.
func TestAccepts(t *testing.T) {
	if v := Verify(read(t, exchange), verify.Options{}); !v.Accepts || len(v.Why) > 0 {
		t.Fatalf("the example: %v", v.Why)
	}
	many := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+", ", n), ", ") }
	nop := `   {"name": "nop"},` + "\n"
	for _, c := range []struct{ old, new, want string }{
		{`"name": "exchange", `, ``, "no key name"},
		{`"output_chunks": 2`, `"output_chunks": 0`, "gpu 0: output_chunks 0, which it divides by"},
		{`"output_chunks": 2`, `"output_chunks": 1`, "gpu 0: 2 chunks of input and 1 of output"},
		{`"min_message_size": 32`, `"min_message_size": 2097152`, "its sizes, from 2097152 bytes to 1048576, are none"},
		{`"min_message_size": 32, "max_message_size": 1048576`, `"max_message_size": 31`, "no size of 0 to 31 bytes is a multiple of 32"},
		{`"inplace": true`, `"inplace": true, "num_threads_per_block": 2048`, "2048 threads in a threadblock: at most 1024"},
		{nop, many(56, `{"name": "nop"}`) + ",", "gpu 0 threadblock 0: 64 operations"},
		{nop, many(57, `{"name": "nop"}`) + ",", "gpu 0 threadblock 0: 65 operations: at most 64"},
		{`"channel_type": "memory", "channel_ids": [0]}`, `"channel_type": "memory", "channel_ids": [` + many(17, "0") + `]}`, "17 memory channels: at most 16"},
		{`"remote_buffer_ids": [0]`, `"remote_buffer_ids": [` + many(17, "0") + `]`, "17 remote buffers over memory channels: at most 16"},
		{`"put", "channel_ids": [0]`, `"put", "channel_ids": [` + many(9, "0") + `]`, "op 3: put: 9 channels: at most 8"},
		{nop, `{"name": "barrier", "barrier_id": 16, "num_threadblocks": 1},`, "barrier 16: want 0 to 15"},
	} {
		v := Verify(read(t, change(t, c.old, c.new)), verify.Options{})
		if got := strings.Join(v.Why, "; "); strings.Contains(c.want, "64 operations") && !strings.Contains(c.want, "at most") {
			if got != "" {
				t.Errorf("64 operations: %s", got)
			}
		} else if v.Accepts || !strings.Contains(got, c.want) {
			t.Errorf("%q; want %q", got, c.want)
		}
	}
}

// Each row is a property of a plan that the verifier does not follow or the runtime does
// not read, with its warning.
func TestNotFollowed(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"collective": "allreduce"`, `"collective": "shuffle"`, "not followed: shuffle over these buffers is no collective known here"},
		{`"reduce_op": "sum"`, `"reduce_op": "max"`, "reduce_op max, which the runtime does not read"},
		{`"protocol": "Simple"`, `"protocol": "LL128"`, `protocol "LL128", which the runtime takes for Simple`},
		{`"inplace": true`, `"inplace": true, "colour": "red"`, `key "colour", which the runtime does not read`},
	} {
		v := Verify(read(t, change(t, c.old, c.new)), verify.Options{})
		if !v.OK() || !strings.Contains(fmt.Sprint(v.Report.Findings), c.want) {
			t.Errorf("%v; want %s", v.Report.Findings, c.want)
		}
	}
}

// Packets that the next launch may overwrite are a warning.
func TestPacketsWithoutDoubleScratch(t *testing.T) {
	plan := lowered(t, ring(t, 3), LowerOptions{Name: "plan", Protocol: "LL"})
	right(t, plan)
	plan.DoubleScratch = false
	v := Verify(plan, verify.Options{})
	if want := "not followed: packets without use_double_scratch_buffer"; !v.OK() || !strings.Contains(fmt.Sprint(v.Report.Findings), want) {
		t.Errorf("%v; want %s", v.Report.Findings, want)
	}
}

// Sums over shared scratch that the runtime's kernel computes wrong are a warning.
func TestPipelinedSumsOverSharedScratch(t *testing.T) {
	const put = `{"name": "put"`
	pipeline := func(limit string) *Plan {
		return read(t, change(t, `"inplace": true`, `"inplace": true, "reuse_resources": true`, `"max_message_size": 1048576`, limit,
			put, `{"name": "pipeline", "iter_context": {"unit_size": 16777216, "num_chunks": 2}, "ops": [`+put, `"reduce_op": "sum"}`, `"reduce_op":"sum"}]}`))
	}
	const want = "op 3: pipeline: source 1 of re: its kernel goes by destination 1 for whether that is scratch, which is used over and over from 33554432 bytes a chunk on"
	for limit, warned := range map[string]bool{`"max_message_size": 67108896`: true, `"max_message_size": 67108864`: false} {
		p := pipeline(limit)
		if got := strings.Contains(fmt.Sprint(Verify(p, verify.Options{}).Report.Findings), want); got != warned {
			t.Errorf("%s: %v", limit, Verify(p, verify.Options{}).Report.Findings)
		}
	}
}

// TestLinks refuses channels where there is no link.
func TestLinks(t *testing.T) {
	v := Verify(read(t, exchange), verify.Options{Linked: func(a, b int) bool { return a < b }})
	if want := "memory channel to rank 0: it has no link there"; !strings.Contains(fmt.Sprint(v.Report.Err()), want) {
		t.Errorf("%v; want %s", v.Report.Err(), want)
	}
}

// Short plans that claim large sizes are refused without large memory.
func TestShortFilesTakeLittle(t *testing.T) {
	const ops = `"ops": [` + "\n"
	nothing := `{"name": "copy", "src_buff": [{"type": "i", "index": 0, "size": 1}], "dst_buff": [{"type": "s", "index": 0, "size": 1}]%s}`
	part := func(n int) string {
		return fmt.Sprintf(nothing, fmt.Sprintf(`, "tbg_info": {"tb_id": 0, "tbg_size": %d}`, n))
	}
	pipeline := func(unit, chunks int, op string) string {
		return fmt.Sprintf(`{"name": "pipeline", "iter_context": {"unit_size": %d, "num_chunks": %d}, "ops": [%s]}`, unit, chunks, op)
	}
	for _, c := range []struct{ name, sem, op, want string }{
		{"many parts", "", part(4093) + "," + part(4091), "cut a chunk into 16744463 cells"},
		{"units without a common granule", "", pipeline(1<<31-1, 1, fmt.Sprintf(nothing, "")) + "," + pipeline(1<<31-2, 1, fmt.Sprintf(nothing, "")), "cut a chunk into 2147483647 cells"},
		{"endless passes", `{"init_value": 2147483647}`, pipeline(1, 100000000, `{"name": "sem_release", "semaphore_ids": [0]}, {"name": "sem_acquire", "semaphore_ids": [0]}`), "take too much to follow"},
	} {
		v := Verify(read(t, change(t, ops, ops+c.op+",", `"semaphores": []`, `"semaphores": [`+c.sem+`]`)), verify.Options{})
		if !v.Report.Has(verify.Limit) || !strings.Contains(fmt.Sprint(v.Report.Err()), c.want) {
			t.Errorf("%s: %v; want %s", c.name, v.Report.Err(), c.want)
		}
	}
}
