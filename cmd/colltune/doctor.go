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
			var all []executor.Finding
			for _, probe := range probes {
				all = append(all, probe()...)
			}
			s := sheet{columns: []column{text("what"), text("found"), text("detail")}}
			for _, f := range all {
				s.add(f.What, yesNo(f.Found), f.Detail)
			}
			return printResult(cmd, "doctor", struct {
				Findings []executor.Finding `json:"findings"`
			}{all}, s)
		},
	}
	outputFlags(cmd)
	return cmd
}

// probes return doctor's findings, in order. Nothing that is missing is an error:
// everything has a substitute.
var probes = []func() []executor.Finding{probeMachine, probeSolvers, probeGPUs, probeExecutors}

// probeMachine describes the processors.
func probeMachine() []executor.Finding {
	return []executor.Finding{{What: "machine", Found: true, Detail: runtime.GOOS + "/" + runtime.GOARCH + ", " + units.Count(runtime.NumCPU(), "core")}}
}

// probeSolvers finds libz3, and the solvers that a search would use.
func probeSolvers() []executor.Finding {
	z3 := executor.Finding{What: "libz3"}
	s, err := solver.Open(solver.Options{Notice: func(notice string) { z3.Detail = notice }})
	if err != nil {
		return []executor.Finding{{What: "solver", Found: false, Detail: err.Error()}}
	}
	defer s.Close()
	versions, err := s.Versions()
	if err != nil {
		return []executor.Finding{{What: "solver", Found: false, Detail: err.Error()}}
	}
	var used []string
	for i, name := range s.Solvers() {
		used = append(used, name)
		if name == "z3" {
			z3.Found, z3.Detail = true, versions[i]
		}
	}
	return []executor.Finding{z3, {What: "solver", Found: true, Detail: strings.Join(used, ", ")}}
}

// probeGPUs looks for the vendors' device files, which needs no driver, and for their
// tools.
func probeGPUs() []executor.Finding {
	var all []executor.Finding
	for _, v := range []struct{ vendor, devices, tool string }{
		{"NVIDIA GPUs", "/dev/nvidia[0-9]*", "nvidia-smi"},
		{"AMD GPUs", "/dev/kfd", "rocm-smi"},
	} {
		devices, _ := filepath.Glob(v.devices)
		f := executor.Finding{What: v.vendor, Found: len(devices) > 0, Detail: "no " + v.devices}
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
func probeExecutors() []executor.Finding {
	var all []executor.Finding
	needs := executor.Examine()
	for _, e := range executor.List() {
		detail := strings.TrimSpace(e.Kind + " " + howStarted(e))
		all = append(all, executor.Finding{What: "executor " + e.Name, Found: true, Detail: detail})
		if e.Launcher != "" {
			program, _, _ := strings.Cut(e.Launcher, " ")
			f := executor.Finding{What: e.Name + ": launcher"}
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
			f.What = e.Name + ": " + f.What
			all = append(all, f)
		}
	}
	return all
}
