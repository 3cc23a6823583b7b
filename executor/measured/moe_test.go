package measured

import (
	"fmt"
	"strings"
	"testing"
)

const (
	deepLow    = "framework,version,device,op_name,kernel_source,node_num,hidden_size,num_token,num_topk,num_experts,combine_avg_t_us,combine_bandwidth_gbps,dispatch_avg_t_us,dispatch_bandwidth_gbps\nsglang,0.5.12,NVIDIA H200,ll,deepep,1,7168,128,8,256,67.745,216.7,35.119,216.0\n"
	deepNormal = "framework,version,device,op_name,kernel_source,node_num,hidden_size,num_token,num_topk,num_experts,dispatch_sms,dispatch_transmit_us,dispatch_notify_us,combine_sms,combine_transmit_us,combine_notify_us\nsglang,0.5.12,NVIDIA H200,normal,deepep,1,7168,128,8,256,24,40.5,8,20,83,0.5\n"
	trtHead    = "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,topk,num_experts,moe_ep_size,distribution,latency\n"
	trtRows    = trtHead +
		"TRTLLM,1.2.0,NVIDIA GB200,alltoall_dispatch,NVLinkTwoSided,nvfp4,16,7168,8,256,4,balanced,0.011\n" +
		"TRTLLM,1.2.0,NVIDIA GB200,alltoall_prepare,NVLinkTwoSided,nvfp4,16,7168,8,256,4,balanced,0.005\n" +
		"TRTLLM,1.2.0,NVIDIA GB200,alltoall_combine,NVLinkTwoSided,nvfp4,16,7168,8,256,4,power_law,0.012\n" +
		"TRTLLM,1.2.0,NVIDIA GB200,alltoall_combine_low_precision,NVLinkTwoSided,nvfp4,16,7168,8,256,4,balanced,0.009\n"
)

// Tokens become bytes by the formula of moe.go.
func TestMoERows(t *testing.T) {
	for _, c := range []struct{ source, text, want string }{
		{"low.csv,ranks=8", deepLow, // 8 × 128 × 8 × 7168 × 1, and × 2
			"58720256 deepep sglang-0.5.12 low latency, 256 experts sms= dispatch 35.119|117440512 deepep sglang-0.5.12 low latency, 256 experts sms= combine 67.745"},
		{"normal.csv,ranks=8", deepNormal,
			"58720256 deepep sglang-0.5.12 normal, 256 experts sms=24 dispatch 48.5|117440512 deepep sglang-0.5.12 normal, 256 experts sms=20 combine 83.5"},
		{"trt.csv", trtRows, // 4 × 16 × 8 × 7168 × 9/16, × 2, and × 1
			"2064384 trtllm TRTLLM-1.2.0 NVLinkTwoSided nvfp4, 256 experts sms= dispatch 16|7340032 trtllm TRTLLM-1.2.0 NVLinkTwoSided nvfp4, 256 experts sms= combine power_law 12|3670016 trtllm TRTLLM-1.2.0 NVLinkTwoSided nvfp4 low precision, 256 experts sms= combine 9"},
	} {
		source, err := ParseSource(c.source)
		if err != nil {
			t.Fatal(err)
		}
		rows, _, err := Read(source, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%d %s %s sms=%s %s %g", r.Bytes, r.Entry(), r.Conditions[Kernel], r.Conditions[SMs], r.Conditions[Traffic], r.TimeUS))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s\n%s\nwant\n%s", c.source, strings.Join(got, "\n"), strings.ReplaceAll(c.want, "|", "\n"))
		}
	}
	for _, c := range []struct{ source, text, want string }{
		{"low.csv", deepLow, "low.csv:2: ranks is not stated: want it beside the file's name"},
		{"low.csv,ranks=8", strings.Replace(deepLow, ",128,", ",x,", 1), `low.csv:2: column num_token: "x": want a whole number from 1`},
		{"low.csv,ranks=8", strings.Replace(deepLow, "35.119", "-1", 1), `column dispatch_avg_t_us: "-1"`},
		{"low.csv,ranks=8", deepLow + "sglang\n", "low.csv:3: another number of fields"},
		{"trt.csv", strings.Replace(trtRows, "_dispatch", "_dispatches", 1), `trt.csv:2: unknown op_name "alltoall_dispatches"`},
		{"trt.csv", strings.Replace(trtRows, "nvfp4", "int4", 1), `trt.csv:2: unknown moe_dtype "int4": want one of bfloat16, float16, fp8, fp8_block, nvfp4`},
		{"trt.csv", trtHead, "nothing was measured"},
		{"trt.csv", strings.Replace(trtRows, ",16,", ",0,", 1), `trt.csv:2: column num_tokens: "0": want a whole number from 1`},
	} {
		source, err := ParseSource(c.source)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read(source, []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: want %q", err, c.want)
		}
	}
}
