package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/serve"
)

// faulty is an executor that does what its name says to every trial.
type faulty struct{ fault string }

func (f faulty) Describe(context.Context) (executor.Description, error) {
	d := executor.Description{Name: f.fault, Version: "1", Deterministic: true, Fingerprint: map[string]string{"fault": f.fault}}
	switch f.fault {
	case "small":
		d.MaxBytes = 4096
	case "models":
		d.Simulated = true
	case "shares":
		d.Devices = []string{"GPU 0"}
	}
	return d, nil
}

func (f faulty) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	fault := f.fault
	if fault == "worsens" {
		if fault = "wrong"; t.Bytes > 1024 {
			fault = "dies"
		}
	}
	switch fault {
	case "holds": // abandonable it is given up
		<-ctx.Done()
		return executor.Measurement{}, ctx.Err()
	case "wrong":
		return executor.Measurement{TimesUS: []float64{1000}, Wrong: 3, Checked: true}, nil
	case "fast":
		return executor.Measurement{TimesUS: []float64{1e-6}}, nil
	case "dies":
		os.Exit(3)
	case "works", "small", "models":
		return executor.Measurement{TimesUS: []float64{1000}}, nil
	case "checks", "shares":
		return executor.Measurement{TimesUS: []float64{1000}, Checked: true}, nil
	case "sometimes": // checks what is small
		return executor.Measurement{TimesUS: []float64{1000}, Checked: t.Bytes <= 1024}, nil
	}
	return executor.Measurement{}, errors.New("no device")
}

// pluginEnv names the fault that a test binary serves as an executor.
const pluginEnv = "COLLTUNE_EXECUTOR_TEST_FAULT"

// servePlugin makes this process a faulty executor where it was started as one.
func servePlugin() {
	if fault := os.Getenv(pluginEnv); fault != "" && len(os.Args) > 1 && os.Args[1] == "serve-fault" {
		switch illness, ok := strings.CutPrefix(fault, "sick-"); {
		case ok:
			serveSick(illness)
		case fault == "library", fault == "mixed":
			serve.Main(fakeLibrary{mixed: fault == "mixed"})
		default:
			serve.Main(faulty{fault})
		}
		os.Exit(0)
	}
}

// plugin makes a program that is a faulty executor: plugin FILE FAULT.
func plugin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: plugin FILE FAULT")
	}
	self, err := os.Executable()
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	quoted := "'" + strings.ReplaceAll(self, "'", `'\''`) + "'"
	ts.Check(os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\n%s=%s exec %s serve-fault\n", pluginEnv, args[1], quoted), 0o755))
}
