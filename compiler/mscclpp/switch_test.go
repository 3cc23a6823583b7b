package mscclpp

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/verify"
)

// onSwitch returns an allreduce of two ranks, in place, each of which has the
// switch add up one chunk of both and store it to both, between other
// operations of its own.
func onSwitch(before, after string) string {
	rank := func(g int) string {
		word := func(name string) string {
			return fmt.Sprintf(`{"name": %q, "channel_ids": [0], "channel_type": "memory"}`, name)
		}
		chunk := fmt.Sprintf(`[{"switch_channel_id": 0, "index": %d, "size": 1}]`, g)
		ops := []string{
			word("rlxsignal"), word("rlxwait"), `{"name": "nop"}`, before,
			fmt.Sprintf(`{"name": "glres", "channel_ids": [0], "channel_type": "switch", "src_buff": %s, "dst_buff": %s}`, chunk, chunk),
			after, `{"name": "nop"}`, word("signal"), word("wait"),
		}
		return fmt.Sprintf(`{"id": %d, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 1,
			"channels": [{"channel_type": "memory", "connected_to": [%d]}, {"channel_type": "switch", "buffer_type": "i", "rank_groups": [{"size": 2, "ranks": [0, 1]}]}],
			"remote_buffers": [], "semaphores": [],
			"threadblocks": [{"id": 0, "channels": [{"channel_type": "memory", "channel_ids": [0]}, {"channel_type": "switch", "channel_ids": [0]}], "remote_buffer_refs": [],
				"ops": [%s]}]}`, g, 1-g, strings.NewReplacer(",,", ",", "GPU", strconv.Itoa(g)).Replace(strings.Join(ops, ",")))
	}
	return fmt.Sprintf(`{"name": "switch", "collective": "allreduce", "protocol": "Simple", "inplace": true, "gpus": [%s, %s]}`, rank(0), rank(1))
}

// A switch operation accesses a place with other threads than a copy does: without a nop
// between them they race.
func TestSwitchOperationsUseOtherThreads(t *testing.T) {
	const nop = `{"name": "nop"}`
	aside := `{"name": "copy", "src_buff": [{"type": "i", "index": GPU, "size": 1}], "dst_buff": [{"type": "s", "index": 0, "size": 1}]}`
	for _, c := range []struct{ name, before, after, want string }{
		{"alone", "", "", ""},
		{"read before, and brought together", aside + "," + nop, "", ""},
		{"read after, and brought together", "", nop + "," + aside, ""},
		{"read before", aside, "", "gpu 1 threadblock 0 op 4 (glres) and gpu 1 threadblock 0 op 3 (copy) both access in[1] of gpu 1"},
		{"read after", "", aside, "gpu 1 threadblock 0 op 4 (copy) and gpu 1 threadblock 0 op 3 (glres) both access in[1] of gpu 1"},
	} {
		v := Verify(read(t, onSwitch(c.before, c.after)), verify.Options{})
		if c.want == "" && !v.OK() || c.want != "" && (!v.Report.Has(verify.Race) || !strings.Contains(fmt.Sprint(v.Report.Err()), c.want)) {
			t.Errorf("%s: %v; want %q", c.name, v.Report.Err(), c.want)
		}
	}
}
