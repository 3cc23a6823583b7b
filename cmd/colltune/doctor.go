package main

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/units"
)

// finding is a row of doctor: something it looked for, and whether it is here.
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
each executor what it needs and whether that is here. colltune needs none of it but a
processor.

  colltune doctor`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []finding
			for _, probe := range probes {
				all = append(all, probe()...)
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

// probes return doctor's findings, in order. Nothing that is missing is an error:
// everything has a substitute.
var probes = []func() []finding{probeMachine, probeSolvers, probeGPUs, probeExecutors}

// probeMachine describes the processors.
func probeMachine() []finding {
	return []finding{{"machine", true, runtime.GOOS + "/" + runtime.GOARCH + ", " + units.Count(runtime.NumCPU(), "core")}}
}

// probeSolvers finds libz3, and the solvers that a search would use.
func probeSolvers() []finding {
	z3 := finding{What: "libz3"}
	s, err := solver.Open(solver.Options{Notice: func(notice string) { z3.Detail = notice }})
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

// probeGPUs looks for the vendors' device files, which needs no driver, and for their
// tools.
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

// probeExecutors lists the executors that can be started by name, and for each the
// findings on what it needs.
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
			continue // what it needs must be on the other machine
		}
		for _, f := range needs[cmp.Or(e.Of, e.Name)] {
			all = append(all, finding{e.Name + ": " + f.What, f.Found, f.Detail})
		}
	}
	return all
}
