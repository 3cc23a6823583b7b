package compiler

// instructionCases are the cases of the passes from chunk dag to synchronise.
var instructionCases = []passCase{
	{"scratch", "an operand keeps a place of its own", func(b *builder) {
		b.copy(in(0, 0), sc(1, 2), 1)
		b.reduce(sc(1, 2), in(0, 0), 1)
		b.copy(sc(1, 2), sc(1, 4), 1)
		b.copy(sc(1, 4), sc(2, 0), 1)
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 sc[0]",
		"1 reduce rank 0 in[0] → rank 1 sc[1] with sc[0] after | 0",
		"2 copy rank 1 sc[1] → rank 2 sc[0] after 1 |"}},
	{"chunk dag", "an operand away from the destination", func(b *builder) {
		b.copy(in(3, 0), out(1, 0), 1)
		b.copy(out(1, 0), sc(1, 0), 1)
		b.reduce(sc(1, 0), in(2, 0), 1)
		b.copy(sc(1, 0), out(2, 0), 1)
	}, Options{}, []string{
		"0 copy rank 3 in[0] → rank 1 out[0] result",
		"1 reduce rank 2 in[0] → rank 1 sc[0] with out[0] after | 0",
		"2 copy rank 1 sc[0] → rank 2 out[0] after 1 | result"}},
	{"chunk dag", "true and false dependencies", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 2)
		b.copy(sc(1, 1), sc(2, 0), 1)   // reads what 0 wrote
		b.copy(sc(0, 2), sc(1, 1), 1)   // overwrites what 1 read
		b.reduce(sc(1, 0), sc(1, 1), 1) // reads and writes 0's, reads 2's
		b.copy(sc(0, 0), sc(1, 0), 2)   // overwrites all that
	}, Options{}, []string{
		"0 copy rank 0 sc[0:2] → rank 1 sc[0:2]",
		"1 copy rank 1 sc[1] → rank 2 sc[0] after 0 |",
		"2 copy rank 0 sc[2] → rank 1 sc[1] after | 1",
		"3 reduce rank 1 sc[1] → rank 1 sc[0] after 2 | 0",
		"4 copy rank 0 sc[0:2] → rank 1 sc[0:2] after | 3"}},

	{"chunk dag", "only accessed chunks make dependencies", func(b *builder) {
		b.shuffle(sc(0, 0), sc(1, 0), 2, 1, 2) // writes 0 and 2
		b.shuffle(sc(0, 2), sc(1, 1), 2, 1, 2) // writes 1 and 3
		b.copy(sc(1, 1), sc(2, 0), 1)
		b.copy(sc(1, 2), sc(3, 0), 2)
		b.shuffle(sc(0, 4), sc(1, 0), 2, 1, 3) // overwrites 0, and 3 that 3 read
	}, Options{Disable: []string{"coarsen"}}, []string{
		"0 copy rank 0 sc[0:2] → rank 1 sc[0:3:2]",
		"1 copy rank 0 sc[2:4] → rank 1 sc[1:4:2]",
		"2 copy rank 1 sc[1] → rank 2 sc[0] after 1 |",
		"3 copy rank 1 sc[2:4] → rank 3 sc[0:2] after 0 1 |",
		"4 copy rank 0 sc[4:6] → rank 1 sc[0:4:3] after | 0 3"}},

	{"scratch", "reused after the last access", func(b *builder) {
		b.copy(in(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(0, 0), 1)
		b.copy(sc(0, 0), sc(1, 1), 1) // after the answer: sc[0] is free
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 sc[0]",
		"1 copy rank 1 sc[0] → rank 0 sc[0] after 0 |",
		"2 copy rank 0 sc[0] → rank 1 sc[0] after 1 | 1"}},
	{"scratch", "not reused if nothing orders the accesses", func(b *builder) {
		b.copy(in(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), out(2, 0), 1)
		b.copy(in(0, 0), sc(1, 1), 1)
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 sc[0]",
		"1 copy rank 1 sc[0] → rank 2 out[0] after 0 | result",
		"2 copy rank 0 in[0] → rank 1 sc[1]"}},
	{"scratch", "values move together over unused chunks", func(b *builder) {
		b.copy(in(0, 0), sc(1, 4), 1)
		b.copy(in(2, 0), sc(1, 5), 1)
		b.copy(sc(1, 4), sc(0, 0), 2)
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 sc[0]",
		"1 copy rank 2 in[0] → rank 1 sc[1]",
		"2 copy rank 1 sc[0:2] → rank 0 sc[0:2] after 0 1 |"}},
	{"scratch", "a value of unknown origin stays", func(b *builder) {
		b.copy(sc(1, 2), out(0, 0), 1)
		b.copy(sc(0, 0), sc(1, 5), 3)
	}, Options{}, []string{
		"0 copy rank 1 sc[2] → rank 0 out[0]",
		"1 copy rank 0 sc[0:3] → rank 1 sc[3:6]"}},
	{"scratch", "a reduction extends its operand's live range", func(b *builder) {
		b.copy(in(0, 0), sc(1, 0), 1)
		b.reduce(sc(1, 0), in(0, 0), 1)
		b.copy(sc(1, 0), sc(0, 0), 1)
		b.copy(sc(0, 0), sc(1, 1), 1)
		b.reduce(sc(1, 1), in(2, 0), 1)
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 sc[0]",
		"1 reduce rank 0 in[0] → rank 1 sc[0] after | 0",
		"2 copy rank 1 sc[0] → rank 0 sc[0] after 1 |",
		"3 copy rank 0 sc[0] → rank 1 sc[0] after 2 | 2",
		"4 reduce rank 2 in[0] → rank 1 sc[0] after | 3"}},

	{"instructions", "places are local (defect B)", func(b *builder) {
		b.reduce(sc(1, 3), sc(0, 0), 1)
		b.reduce(sc(1, 0), sc(1, 3), 1)
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1",
		"1 rrc  rank 1 sc[3] ← 0",
		"2 re   rank 1 sc[3] ⇒ sc[0] after 1"}},

	{"fuse rcs", "the send with the longest path to the end", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(2, 0), 1)
		b.copy(sc(1, 0), sc(3, 0), 1)
		b.copy(sc(3, 0), sc(3, 1), 1)
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1",
		"1+4 rcs  rank 1 sc[0] ← 0 → 3",
		"2 s    rank 1 sc[0] → 2 after 1",
		"3 r    rank 2 sc[0] ← 1",
		"5 r    rank 3 sc[0] ← 1",
		"6 cpy  rank 3 sc[0] ⇒ sc[1] after 5"}},
	{"fuse rcs", "the same chunks only (defect D)", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 2)
		b.copy(sc(0, 0), sc(1, 2), 1)
		b.copy(sc(1, 1), sc(2, 0), 2)
	}, Options{Disable: []string{"coarsen"}}, []string{
		"0 s    rank 0 sc[0:2] → 1",
		"1 r    rank 1 sc[0:2] ← 0",
		"2 s    rank 0 sc[0] → 1",
		"3 r    rank 1 sc[2] ← 0",
		"4 s    rank 1 sc[1:3] → 2 after 1 3",
		"5 r    rank 2 sc[0:2] ← 1"}},
	{"fuse rcs", "the same stride", func(b *builder) {
		b.shuffle(sc(0, 0), sc(1, 0), 2, 1, 2)
		b.shuffle(sc(1, 0), sc(2, 0), 2, 2, 1)
	}, Options{Disable: []string{"coarsen"}}, []string{
		"0 s    rank 0 sc[0:2] → 1",
		"1+2 rcs  rank 1 sc[0:3:2] ← 0 → 2",
		"3 r    rank 2 sc[0:2] ← 1"}},
	{"fuse rcs", "not at another stride", func(b *builder) {
		b.shuffle(sc(0, 0), sc(1, 0), 3, 1, 1)
		b.shuffle(sc(1, 0), sc(2, 0), 2, 2, 1)
	}, Options{Disable: []string{"coarsen"}}, []string{
		"0 s    rank 0 sc[0:3] → 1",
		"1 r    rank 1 sc[0:3] ← 0",
		"2 s    rank 1 sc[0:3:2] → 2 after 1",
		"3 r    rank 2 sc[0:2] ← 1"}},
	{"fuse rcs", "not a part of the chunks", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 2)
		b.copy(sc(1, 0), sc(2, 0), 1)
	}, Options{}, []string{
		"0 s    rank 0 sc[0:2] → 1",
		"1 r    rank 1 sc[0:2] ← 0",
		"2 s    rank 1 sc[0] → 2 after 1",
		"3 r    rank 2 sc[0] ← 1"}},
	{"fuse rcs", "not if overwritten in between", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 1), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(2, 0), 1)
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1",
		"1 r    rank 1 sc[0] ← 0",
		"2 cpy  rank 1 sc[1] ⇒ sc[0] after 1",
		"3 s    rank 1 sc[0] → 2 after 2",
		"4 r    rank 2 sc[0] ← 1"}},
	{"fuse rcs", "remote place ignored (defect A)", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 5), 1)
		b.copy(sc(1, 5), sc(2, 2), 1)
	}, Options{Disable: []string{"scratch"}}, []string{
		"0 s    rank 0 sc[0] → 1",
		"1+2 rcs  rank 1 sc[5] ← 0 → 2",
		"3 r    rank 2 sc[2] ← 1"}},
	{"fuse rcs", "not across different directives, even far apart", func(b *builder) {
		b.channel = 0
		b.copy(sc(0, 0), sc(1, 0), 1)
		b.channel = none
		b.copy(sc(1, 0), sc(2, 0), 1)
		b.channel = 1
		b.copy(sc(2, 0), sc(3, 0), 1)
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1 ch 0",
		"1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 0|-",
		"3 r    rank 2 sc[0] ← 1",
		"4 s    rank 2 sc[0] → 3 ch 1 after 3",
		"5 r    rank 3 sc[0] ← 2 ch 1"}},
	{"fuse rcs", "not across instances", func(b *builder) {
		b.parallel(2, func() { b.copy(sc(0, 0), sc(1, 0), 1) })
		b.copy(sc(1, 0), sc(2, 0), 1)
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1",
		"1 r    rank 1 sc[0] ← 0",
		"2 s    rank 0 sc[1] → 1 instance 1",
		"3 r    rank 1 sc[1] ← 0 instance 1",
		"4 s    rank 1 sc[0:2] → 2 after 1 3",
		"5 r    rank 2 sc[0:2] ← 1"}},

	{"fuse rrs", "a dead store", func(b *builder) {
		b.reduce(sc(1, 0), sc(0, 0), 1)
		b.copy(sc(1, 0), sc(2, 0), 1)
		b.copy(sc(0, 0), sc(1, 0), 1)
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1",
		"1+2 rrs  rank 1 sc[0] ← 0 → 2",
		"3 r    rank 2 sc[0] ← 1",
		"4 s    rank 0 sc[0] → 1",
		"5 r    rank 1 sc[0] ← 0 after 2"}},
	{"fuse rrs", "not if read again", func(b *builder) {
		b.reduce(sc(1, 0), sc(0, 0), 1)
		b.copy(sc(1, 0), sc(2, 0), 1)
		b.copy(sc(1, 0), sc(1, 1), 1)
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1",
		"1+2 rrcs rank 1 sc[0] ← 0 → 2",
		"3 r    rank 2 sc[0] ← 1",
		"4 cpy  rank 1 sc[0] ⇒ sc[1] after 1"}},
	{"fuse rrs", "not if half is overwritten (defect C)", func(b *builder) {
		b.reduce(sc(1, 0), sc(0, 0), 2)
		b.copy(sc(1, 0), sc(2, 0), 2)
		b.copy(sc(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(3, 0), 2)
	}, Options{}, []string{
		"0 s    rank 0 sc[0:2] → 1",
		"1+2 rrcs rank 1 sc[0:2] ← 0 → 2",
		"3 r    rank 2 sc[0:2] ← 1",
		"4 s    rank 0 sc[0] → 1",
		"5 r    rank 1 sc[0] ← 0 after 2",
		"6 s    rank 1 sc[0:2] → 3 after 5 1",
		"7 r    rank 3 sc[0:2] ← 1"}},
	{"fuse rrs", "not if part of the result", func(b *builder) {
		b.reduce(out(1, 0), sc(0, 0), 1)
		b.copy(out(1, 0), sc(2, 0), 1)
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1",
		"1+2 rrcs rank 1 out[0] ← 0 → 2 result",
		"3 r    rank 2 sc[0] ← 1"}},
	{"fuse rrs", "an output chunk without a requirement", func(b *builder) {
		b.reduce(out(0, 0), sc(1, 0), 1) // rank 0 of AllToNext
		b.copy(out(0, 0), sc(2, 0), 1)
	}, Options{}, []string{
		"0 s    rank 1 sc[0] → 0",
		"1+2 rrs  rank 0 out[0] ← 1 → 2",
		"3 r    rank 2 sc[0] ← 0"}},

	{"channels", "a connection is paired once on a channel", func(b *builder) {
		for to := range 2 {
			b.copy(sc(0, to), sc(1, to), 1)
			b.copy(sc(1, to), sc(2+to, 0), 1)
		}
		b.copy(sc(0, 2), sc(1, 2), 1)
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1 ch 0",
		"1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 0",
		"3 r    rank 2 sc[0] ← 1 ch 0",
		"4 s    rank 0 sc[1] → 1 ch 1",
		"5+6 rcs  rank 1 sc[1] ← 0 → 3 ch 1",
		"7 r    rank 3 sc[0] ← 1 ch 1",
		"8 s    rank 0 sc[2] → 1 ch 0",
		"9 r    rank 1 sc[2] ← 0 ch 0"}},
	{"channels", "no channel left: a fusion is undone", func(b *builder) {
		for to := range 2 {
			b.copy(sc(0, to), sc(1, to), 1)
			b.copy(sc(1, to), sc(2+to, 0), 1)
		}
	}, Options{MaxChannels: 1}, []string{
		"0 s    rank 0 sc[0] → 1 ch 0",
		"1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 0",
		"3 r    rank 2 sc[0] ← 1 ch 0",
		"4 s    rank 0 sc[1] → 1 ch 0",
		"5 r    rank 1 sc[1] ← 0 ch 0",
		"6 s    rank 1 sc[1] → 3 ch 0 after 5",
		"7 r    rank 3 sc[0] ← 1 ch 0"}},
	{"channels", "conflicting directives undo a fusion", func(b *builder) {
		b.channel = 3
		for to := range 2 {
			b.copy(sc(0, to), sc(1, to), 1)
			b.copy(sc(1, to), sc(2+to, 0), 1)
		}
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1 ch 3",
		"1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 3",
		"3 r    rank 2 sc[0] ← 1 ch 3",
		"4 s    rank 0 sc[1] → 1 ch 3",
		"5 r    rank 1 sc[1] ← 0 ch 3",
		"6 s    rank 1 sc[1] → 3 ch 3 after 5",
		"7 r    rank 3 sc[0] ← 1 ch 3"}},
	{"channels", "instances get free channel numbers", func(b *builder) {
		b.channel = 1
		b.parallel(2, func() { b.copy(sc(0, 0), sc(1, 0), 1) })
		b.channel = 3
		b.copy(sc(1, 0), sc(2, 0), 1)
	}, Options{Instances: 2}, []string{
		"0 s    rank 0 sc[0] → 1 ch 1",
		"1 r    rank 1 sc[0] ← 0 ch 1",
		"2 s    rank 0 sc[1] → 1 ch 2 instance 2",
		"3 r    rank 1 sc[1] ← 0 ch 2 instance 2",
		"4 s    rank 0 sc[2] → 1 ch 0 instance 1",
		"5 r    rank 1 sc[2] ← 0 ch 0 instance 1",
		"6 s    rank 0 sc[3] → 1 ch 3 instance 3",
		"7 r    rank 1 sc[3] ← 0 ch 3 instance 3",
		"8 s    rank 1 sc[0:2] → 2 ch 3 after 1 3",
		"9 r    rank 2 sc[0:2] ← 1 ch 3",
		"10 s    rank 1 sc[2:4] → 2 ch 0 instance 2 after 5 7",
		"11 r    rank 2 sc[2:4] ← 1 ch 0 instance 2"}},

	{"order", "no more messages in flight than slots (defect F)", func(b *builder) {
		for i := range 3 {
			b.copy(sc(0, i), sc(1, i), 1)
		}
	}, Options{}, []string{
		"0 s    rank 0 sc[0] → 1 ch 0 depth 0 of 1",
		"2 s    rank 0 sc[1] → 1 ch 0 depth 0 of 1",
		"1 r    rank 1 sc[0] ← 0 ch 0 depth 1 of 1",
		"4 s    rank 0 sc[2] → 1 ch 0 depth 0 of 1",
		"3 r    rank 1 sc[1] ← 0 ch 0 depth 1 of 1",
		"5 r    rank 1 sc[2] ← 0 ch 0 depth 1 of 1"}},
	{"order", "a message of more calls than slots passes its chain at once", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 3)
		b.copy(sc(1, 3), sc(0, 3), 3)
	}, Options{CallPerChunk: true}, []string{
		"0 s    rank 0 sc[0:3] → 1 ch 0 depth 0 of 1",
		"1 r    rank 1 sc[0:3] ← 0 ch 0 depth 1 of 1",
		"2 s    rank 1 sc[3:6] → 0 ch 0 depth 0 of 1",
		"3 r    rank 0 sc[3:6] ← 1 ch 0 depth 1 of 1"}},

	{"synchronise", "no wait for an implied dependency", func(b *builder) {
		b.copy(sc(1, 0), sc(0, 0), 1) // 0, 1: arrives in its threadblock
		b.copy(sc(0, 0), sc(2, 0), 1) // another sends it on: a wait
		b.copy(sc(0, 0), sc(2, 1), 1) // the same one, again: none
		b.copy(sc(3, 0), sc(0, 0), 1) // overwrites: waits for the sends, the later one
	}, Options{Disable: []string{"fuse rcs"}}, []string{
		"rank 0 tb 0 ← 1 ch 0",
		"  1 r    rank 0 sc[0] ← 1 ch 0 depth 1 of 3 at 1",
		"rank 0 tb 1 ← 3 ch 0",
		"  7 r    rank 0 sc[0] ← 3 ch 0 depth 3 of 3 after 4 2 waits 4 at 7",
		"rank 0 tb 2 → 2 ch 0",
		"  2 s    rank 0 sc[0] → 2 ch 0 depth 2 of 3 after 1 waits 1 at 2",
		"  4 s    rank 0 sc[0] → 2 ch 0 depth 2 of 3 after 1 at 3",
		"rank 1 tb 0 → 0 ch 0",
		"  0 s    rank 1 sc[0] → 0 ch 0 depth 0 of 3 at 0",
		"rank 2 tb 0 ← 0 ch 0",
		"  3 r    rank 2 sc[0] ← 0 ch 0 depth 3 of 3 at 5",
		"  5 r    rank 2 sc[1] ← 0 ch 0 depth 3 of 3 at 6",
		"rank 3 tb 0 → 0 ch 0",
		"  6 s    rank 3 sc[0] → 0 ch 0 depth 0 of 1 at 4"}},
	{"synchronise", "a message back implies the first message", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(1, 1), 1)
		b.copy(sc(1, 1), sc(0, 0), 1)
	}, Options{}, []string{
		"rank 0 tb 0 ← 1 ch 0",
		"  4 r    rank 0 sc[0] ← 1 ch 0 depth 4 of 4 after 0 at 4",
		"rank 0 tb 1 → 1 ch 0",
		"  0 s    rank 0 sc[0] → 1 ch 0 depth 0 of 4 at 0",
		"rank 1 tb 0 ← 0 ch 0",
		"  1 r    rank 1 sc[0] ← 0 ch 0 depth 1 of 4 at 1",
		"  2 cpy  rank 1 sc[0] ⇒ sc[1] depth 2 of 4 after 1 at 2",
		"rank 1 tb 1 → 0 ch 0",
		"  3 s    rank 1 sc[1] → 0 ch 0 depth 3 of 4 after 2 waits 2 at 3"}},
	{"threadblocks", "sends and receives share; local instructions go to the idlest", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(2, 0), 1)
		b.copy(sc(0, 1), sc(1, 1), 1)
		b.copy(sc(1, 2), sc(3, 0), 1)
		b.copy(sc(1, 3), sc(1, 4), 1)
		b.copy(sc(3, 1), sc(3, 2), 1)
	}, Options{}, []string{
		"rank 0 tb 0 → 1 ch 0",
		"  0 s    rank 0 sc[0] → 1 ch 0 depth 0 of 2 at 0",
		"  4 s    rank 0 sc[1] → 1 ch 0 depth 0 of 1 at 1",
		"rank 1 tb 0 → 2 ← 0 ch 0",
		"  8 cpy  rank 1 sc[3] ⇒ sc[4] depth 0 of 0 at 3",
		"  1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 0 depth 1 of 2 at 5",
		"  5 r    rank 1 sc[1] ← 0 ch 0 depth 1 of 1 at 6",
		"rank 1 tb 1 → 3 ch 0",
		"  6 s    rank 1 sc[2] → 3 ch 0 depth 0 of 1 at 2",
		"rank 2 tb 0 ← 1 ch 0",
		"  3 r    rank 2 sc[0] ← 1 ch 0 depth 2 of 2 at 8",
		"rank 3 tb 0 ← 1 ch 0",
		"  9 cpy  rank 3 sc[1] ⇒ sc[2] depth 0 of 0 at 4",
		"  7 r    rank 3 sc[0] ← 1 ch 0 depth 1 of 1 at 7"}},
	{"place local", "a local instruction goes where it neither delays nor waits", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(2, 0), 1)
		b.copy(sc(1, 2), sc(3, 0), 1)
		b.copy(sc(1, 3), sc(1, 4), 1)
		b.copy(sc(3, 0), sc(3, 1), 1)
		b.copy(sc(3, 2), sc(2, 2), 1)
	}, Options{}, []string{
		"rank 0 tb 0 → 1 ch 0",
		"  0 s    rank 0 sc[0] → 1 ch 0 depth 0 of 2 at 0",
		"rank 1 tb 0 → 2 ← 0 ch 0",
		"  1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 0 depth 1 of 2 at 4",
		"rank 1 tb 1 → 3 ch 0",
		"  4 s    rank 1 sc[2] → 3 ch 0 depth 0 of 2 at 1",
		"  6 cpy  rank 1 sc[3] ⇒ sc[1] depth 0 of 0 at 3",
		"rank 2 tb 0 ← 1 ch 0",
		"  3 r    rank 2 sc[0] ← 1 ch 0 depth 2 of 2 at 7",
		"rank 2 tb 1 ← 3 ch 0",
		"  9 r    rank 2 sc[1] ← 3 ch 0 depth 1 of 1 at 6",
		"rank 3 tb 0 ← 1 ch 0",
		"  5 r    rank 3 sc[0] ← 1 ch 0 depth 1 of 2 at 5",
		"  7 cpy  rank 3 sc[0] ⇒ sc[1] depth 2 of 2 after 5 at 8",
		"rank 3 tb 1 → 2 ch 0",
		"  8 s    rank 3 sc[2] → 2 ch 0 depth 0 of 1 at 2"}},
}
