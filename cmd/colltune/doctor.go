package main

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/executor"
)

// finding is one thing that doctor looked for.
type finding struct {
	What   string `json:"what"`
	Found  bool   `json:"found"`
	Detail string `json:"detail"`
}

func doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what was found on this machine: solver, GPUs, executors",
		Long: `doctor shows what colltune found on this machine: processors, solvers, GPUs, and for
each executor what it needs and whether that is here. Nothing it lists is required
but a processor.

  colltune doctor`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []finding
			for _, look := range probes {
				all = append(all, look()...)
			}
			s := sheet{columns: []column{text("what"), text("found"), text("detail")}}
			for _, f := range all {
				s.add(f.What, yesNo(f.Found), f.Detail)
			}
			return printResult(cmd, "doctor", struct {
				Findings []finding `json:"findings"`
			}{all}, s)
		},
	}
	outputFlags(cmd)
	return cmd
}

// probes is what doctor looks at, in order. Nothing here is a failure if it
// is missing, because everything has a substitute.
var probes = []func() []finding{probeMachine, probeSolvers, probeGPUs, probeExecutors}

func probeMachine() []finding {
	return []finding{{"machine", true, runtime.GOOS + "/" + runtime.GOARCH + ", " + plural(runtime.NumCPU(), "core")}}
}

// probeSolvers says which solver a search would use.
func probeSolvers() []finding {
	z3 := finding{What: "libz3"}
	s, err := constraints.Open(constraints.Options{Notice: func(notice string) { z3.Detail = notice }})
	if err != nil {
		return []finding{{"solver", false, err.Error()}}
	}
	defer s.Close()
	versions, err := s.Versions()
	if err != nil {
		return []finding{{"solver", false, err.Error()}}
	}
	var used []string
	for i, name := range s.Solvers() {
		used = append(used, name)
		if name == "z3" {
			z3.Found, z3.Detail = true, versions[i]
		}
	}
	return []finding{z3, {"solver", true, strings.Join(used, ", ")}}
}

// probeGPUs looks for device files, which takes no tool and no driver, and for the
// listing of the vendor's tool.
func probeGPUs() []finding {
	var all []finding
	for _, v := range []struct{ vendor, devices, tool string }{
		{"NVIDIA GPUs", "/dev/nvidia[0-9]*", "nvidia-smi"},
		{"AMD GPUs", "/dev/kfd", "rocm-smi"},
	} {
		devices, _ := filepath.Glob(v.devices)
		f := finding{What: v.vendor, Found: len(devices) > 0, Detail: "no " + v.devices}
		if f.Found {
			f.Detail = strings.Join(devices, " ")
		}
		if path, err := exec.LookPath(v.tool); err == nil {
			f.Detail += "; " + path
		}
		all = append(all, f)
	}
	return all
}

// probeExecutors lists what can be started by name, and what each would need as far as
// it knows.
func probeExecutors() []finding {
	var all []finding
	needs := executor.Examine()
	for _, e := range executor.List() {
		detail := strings.TrimSpace(e.Kind + " " + howStarted(e))
		all = append(all, finding{"executor " + e.Name, true, detail})
		if e.Launcher != "" {
			program, _, _ := strings.Cut(e.Launcher, " ")
			f := finding{What: e.Name + ": launcher"}
			if path, err := exec.LookPath(program); err != nil {
				f.Detail = "no " + program + " on PATH"
			} else {
				f.Found, f.Detail = true, path
			}
			all = append(all, f)
		}
		if e.Remote {
			continue // it needs that at its launcher's other end, not here
		}
		for _, f := range needs[cmp.Or(e.Of, e.Name)] {
			all = append(all, finding{e.Name + ": " + f.What, f.Found, f.Detail})
		}
	}
	return all
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return short(float64(n)) + " " + what
}
