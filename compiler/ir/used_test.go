package ir

import "testing"

func TestUsed(t *testing.T) {
	p := &Program{GPUs: []GPU{{Threadblocks: []Threadblock{
		{Send: 1, Recv: 1, Steps: []Step{{Op: Send}, {Op: Copy}}},
		{Send: 1, Recv: 1, Steps: []Step{{Op: RecvCopySend}}},
		{Send: -1, Recv: 1, Steps: []Step{{Op: Recv}}},
		{Send: 1, Recv: 1},
	}}}}
	want := [][2]int{{1, -1}, {1, 1}, {-1, 1}, {-1, -1}}
	for id, tb := range p.Used().GPUs[0].Threadblocks {
		if got := [2]int{tb.Send, tb.Recv}; got != want[id] {
			t.Errorf("threadblock %d: peers %v, want %v", id, got, want[id])
		}
	}
	if first := p.GPUs[0].Threadblocks[0]; first.Recv != 1 {
		t.Errorf("the program itself was changed: %+v", first)
	}
}
