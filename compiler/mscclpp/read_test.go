package mscclpp

import (
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/verify"
)

// exchange is an allreduce of two ranks: each hears that the other has begun,
// puts its input into the other's scratch and reduces what came. The pattern's
// lines can be changed one by one.
const exchange = `{
"name": "exchange", "collective": "allreduce", "protocol": "Simple", "inplace": true,
"min_message_size": 32, "max_message_size": 1048576,
"gpus": [
{"id": 0, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 2,
 "channels": [{"channel_type": "memory", "connected_to": [1]}],
 "remote_buffers": [{"rank": 1, "type": "s", "access_channel_types": ["memory"]}],
 "semaphores": [],
 "threadblocks": [{"id": 0,
  "channels": [{"channel_type": "memory", "channel_ids": [0]}],
  "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
  "ops": [
   {"name": "rlxsignal", "channel_ids": [0], "channel_type": "memory"}, {"name": "rlxwait", "channel_ids": [0], "channel_type": "memory"}, {"name":"nop"},
   {"name": "put", "channel_ids": [0], "channel_type": "memory", "src_buff": [{"type": "i", "index": 0, "size": 2}], "dst_buff": [{"buffer_id": 0, "index": 0, "size": 2}]},
   {"name": "nop"},
   {"name": "signal", "channel_ids": [0], "channel_type": "memory"},
   {"name": "wait", "channel_ids": [0], "channel_type": "memory"},
   {"name": "nop"},
   {"name": "re", "src_buff": [{"type": "i", "index": 0, "size": 2}, {"type": "s", "index": 0, "size": 2}], "dst_buff": [{"type": "i", "index": 0, "size": 2}], "reduce_op": "sum"}
  ]}]},
{"id": 1, "input_chunks": 2, "output_chunks": 2, "scratch_chunks": 2,
 "channels": [{"channel_type": "memory", "connected_to": [0]}],
 "remote_buffers": [{"rank": 0, "type": "s", "access_channel_types": ["memory"]}],
 "semaphores": [],
 "threadblocks": [{"id": 0,
  "channels": [{"channel_type": "memory", "channel_ids": [0]}],
  "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
  "ops": [
   {"name": "rlxsignal", "channel_ids": [0], "channel_type": "memory"}, {"name": "rlxwait", "channel_ids": [0], "channel_type": "memory"}, {"name":"nop"},
   {"name": "put", "channel_ids": [0], "channel_type": "memory", "src_buff": [{"type": "i", "index": 0, "size": 2}], "dst_buff": [{"buffer_id": 0, "index": 0, "size": 2}]},
   {"name": "nop"},
   {"name": "signal", "channel_ids": [0], "channel_type": "memory"},
   {"name": "wait", "channel_ids": [0], "channel_type": "memory"},
   {"name": "nop"},
   {"name": "re", "src_buff": [{"type": "i", "index": 0, "size": 2}, {"type": "s", "index": 0, "size": 2}], "dst_buff": [{"type": "i", "index": 0, "size": 2}], "reduce_op": "sum"}
  ]}]}
]}
`

// change replaces some text of exchange, which must be there; an empty old
// leaves all as it is.
func change(t *testing.T, pairs ...string) string {
	t.Helper()
	text := exchange
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%q is not in the example", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no object", "{", "[", "line 1: plan: [ where an object is wanted"},
		{"in the middle", `"gpus": [`, `"gpus": [{"id": 0`, "line 5: "},
		{"twice", `"inplace": true`, `"inplace": true, "inplace": true`, `line 2: plan: key "inplace" twice`},
		{"an unknown key twice", `"inplace": true`, `"x": 1, "x": 1`, `line 2: plan: key "x" twice`},
		{"a word for a number", `"input_chunks": 2`, `"input_chunks": "2"`, "line 5: plan.gpus[0].input_chunks: 2 where a number is wanted"},
		{"a fraction", `"input_chunks": 2`, `"input_chunks": 2.5`, "plan.gpus[0].input_chunks: 2.5: want a whole number from 0 to 2147483647"},
		{"below", `"index": 0`, `"index": -1`, "plan.gpus[0].threadblocks[0].ops[3].src_buff[0].index: -1: want a whole number"},
		{"missing", `"input_chunks": 2, `, ``, `no key "input_chunks"`},
		{"buffer", `"type": "i"`, `"type": "x"`, `unknown buffer "x": want i, o or s`},
		{"channel", `"channel_type": "memory", "connected_to"`, `"channel_type": "wire", "connected_to"`, `unknown channel type "wire": want none, memory, port, switch`},
		{"two forms", `{"type": "i", "index"`, `{"type": "i", "buffer_id": 0, "index"`, "want one of type, buffer_id, switch_channel_id"},
		{"nested pipelines", `{"name": "nop"}`, `{"name": "pipeline", "iter_context": {"unit_size": 1, "num_chunks": 1}, "ops": [{"name": "pipeline", "ops": []}]}`, "a pipeline in a pipeline"},
		{"a pipeline of nothing", `{"name": "nop"}`, `{"name": "pipeline"}`, "a pipeline has an iter_context"},
		{"a part beyond", `"reduce_op": "sum"`, `"tbg_info": {"tb_id": 2, "tbg_size": 2}`, "tb_id 2 of a group of 2"},
		{"more", "]}\n]}\n", "]}\n]}\n{}", "more after the plan"},
		{"switch without buffer", `"channel_type": "memory", "connected_to": [1]`, `"channel_type": "switch", "rank_groups": []`, `no key "buffer_type"`},
		{"a long name", `"name": "exchange"`, `"name": "` + strings.Repeat("a", 100_000) + `"`, "line 2: plan.name has 100000 bytes: want at most 1000"},
		{"deep", `"inplace": true`, `"x": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested more than 64 deep"},
	} {
		_, err := Read(strings.NewReader(change(t, c.old, c.new)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
}

func TestIs(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{exchange, true},
		{`{"gpus":[{"a":[1,2]}],"collective":"x"}`, true},
		{`{"schema":"colltune.ir/v1","collective":"x"}`, false},
		{`{"name":"x","collective":{"name":"allreduce"}}`, false},
		{`{}`, false}, {`[]`, false}, {``, false}, {`{"gpus":[{`, false},
	} {
		if got := IsPlan([]byte(c.text)); got != c.want {
			t.Errorf("%.40q: %v", c.text, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(exchange))
	for _, path := range optional() {
		if text, err := os.ReadFile(path); err == nil && len(text) < 1<<14 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		IsPlan(text)
		p, err := Read(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		v := Verify(p, verify.Options{MaxFindings: 5})
		if w := Verify(p, verify.Options{MaxFindings: 5}); w.Accepts != v.Accepts || len(w.Report.Findings) != len(v.Report.Findings) {
			t.Error("judged otherwise the second time")
		}
		if v.Accepts && len(v.Why) > 0 {
			t.Error("accepted, and refused")
		}
	})
}
