package nccl

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/topologies"
)

// Symmetric kernels are offered where the library runs one, and measured on buffers that are
// registered as windows, as the library's own choice then is; rings are not.
func TestSymmetricKernels(t *testing.T) {
	l := started(t, "well", map[string]string{"symmetric": "true", "kernel": "default,ReduceScatter_LD,AllGather_ST", "ctas": "31,32,33", "sweep": "4096:8192"})
	d, err := l.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var offered []string
	for _, a := range d.Native {
		if a.Algorithm == symmetric {
			offered = append(offered, a.Collectives[0]+": "+strings.Join(a.Settings["kernel"], " ")+", "+strings.Join(a.Settings["ctas"], " "))
		}
	}
	want := []string{"allreduce: default, 31 32 33", "allgather: default AllGather_ST, 31 32 33", "reducescatter: default ReduceScatter_LD, 31 32 33"}
	if !slices.Equal(offered, want) {
		t.Errorf("offered %q, want %q", offered, want)
	}
	if d.Fingerprint["symmetric"] != "true" {
		t.Errorf("fingerprint %v", d.Fingerprint)
	}
	for _, tc := range []struct {
		trial executor.Trial
		times float64
		made  []string // launches: arguments, and variables in their order
	}{
		{native(symmetric, "reducescatter", 4096, 0, map[string]string{"kernel": "ReduceScatter_LD", "ctas": "32"}), 5.13, []string{"-e 4096 ", "-e 8192 "}},
		{native(symmetric, "reducescatter", 8192, 0, map[string]string{"kernel": "ReduceScatter_LD", "ctas": "32"}), 5.26, nil}, // of the same launch
		{native(symmetric, "reducescatter", 4096, 0, map[string]string{"kernel": "ReduceScatter_LD", "ctas": "31"}), 8.21, []string{"-e 4096 ", "-e 8192 "}},
	} {
		before := len(calls(t, l))
		m, err := l.Run(t.Context(), tc.trial)
		if err != nil || len(m.TimesUS) != 2 || m.TimesUS[0] != tc.times {
			t.Fatalf("%s: %+v, %v: want %g us", tc.trial.Native, m, err, tc.times)
		}
		made := calls(t, l)[before:]
		if len(made) != len(tc.made) {
			t.Fatalf("%s: launched %q", tc.trial.Native, made)
		}
		for i, has := range tc.made {
			if !strings.Contains(made[i], has) || !strings.Contains(made[i], " -R 2 ") || !strings.Contains(made[i], "NCCL_SYM_CTAS="+tc.trial.Native.Settings["ctas"]+" NCCL_SYM_KERNEL=ReduceScatter_LD") {
				t.Errorf("%s: launched %q", tc.trial.Native, made[i])
			}
		}
	}
	before := len(calls(t, l))
	for _, trial := range []executor.Trial{native(libraryChoice, "allreduce", 1<<20, 0, nil), native("ring", "allreduce", 1<<20, topologies.LL, nil)} {
		if _, err := l.Run(t.Context(), trial); err != nil {
			t.Error(err)
		}
	}
	made := calls(t, l)[before:]
	if len(made) != 3 || !strings.Contains(made[0], "-R 2") || strings.Contains(made[1]+made[2], "-R") {
		t.Errorf("the library's choice and a ring were launched as %q", made)
	}
}

// A kernel that did not run is not measured under its name.
func TestRefusesKernelsThatDidNotRun(t *testing.T) {
	l := started(t, "well", map[string]string{"symmetric": "true"})
	for name, tc := range map[string]struct {
		settings map[string]string
		says     string
	}{
		"fell back":   {map[string]string{"kernel": "AllReduce_AGxLLMC_R"}, "had no effect: the library ran ring ll, and no symmetric kernel"},
		"no kernel":   {map[string]string{"kernel": "AllReduce_Fast"}, `kernel "AllReduce_Fast": want a kernel of NCCL's, such as AllReduce_AGxLL_R, or default`},
		"too many":    {map[string]string{"ctas": "65"}, `ctas "65": want 1 to 64, or default`},
		"not enabled": {map[string]string{"kernel": "AllReduce_RSxTmaLD_AGxTmaST", "ctas": "8"}, ""},
	} {
		_, err := l.Run(t.Context(), native(symmetric, "allreduce", 4096, 0, tc.settings))
		if tc.says == "" && err != nil || tc.says != "" && (!errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
	if _, err := started(t, "windowless", map[string]string{"symmetric": "true"}).Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "want NCCL 2.27 or later") {
		t.Errorf("without symmetric kernels: %v", err)
	}
	for key, says := range map[string]string{"kernel": "want symmetric = true, too", "symmetric": "want true or false"} {
		_, err := readSettings(func(name string) string {
			return map[string]string{"tests": "x", "gpus": "2", key: "AllGather_LL"}[name]
		}, nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", key, err, says)
		}
	}
}
