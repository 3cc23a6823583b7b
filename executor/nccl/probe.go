package nccl

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/executor/nccl/debuglog"
	"github.com/colltune/colltune/executor/nccl/nccltests"
)

// facts describe what the first launches found.
type facts struct {
	ranks   int
	devices []string
	library string // nccl or rccl
	version string
	tests   string
	tells   bool // the library's log names what it runs
	choices int  // in the log of a launch of one timed call
}

// probeBytes is the size of the first launches' call: small, and divisible among
// almost any number of ranks.
const probeBytes = 1 << 20

// Describe launches the tests twice: without the library's log, to find ranks and devices,
// and with it, to find whether it can confirm algorithms.
func (l *launched) Describe(ctx context.Context) (executor.Description, error) {
	if l.known == nil {
		// Give up before the host does, or the output of a launcher that waits for
		// its nodes would be lost.
		probing, cancel := withMargin(ctx)
		defer cancel()
		f, err := l.probe(probing)
		if err != nil && probing.Err() != nil {
			err = fmt.Errorf("no answer within start-timeout: %w", err)
		}
		if err != nil && ctx.Err() == nil {
			err = executor.Unavailable(err) // the user may be able to mend it; another start would not
		}
		if err != nil {
			return executor.Description{}, err
		}
		l.known = f
	}
	f := l.known
	native := nativeAlgorithms(f.tells || l.trusted, f.library == "rccl", l.tries)
	if l.symmetric {
		native = append(native, symmetricAlgorithms(l.tries)...)
	}
	return executor.Description{
		Name: "nccl", Version: f.version, Devices: f.devices, MaxRanks: f.ranks,
		Protocols: allProtocols, DTypes: dtypes(), Operations: data.Operations(),
		Fingerprint: l.fingerprint(), NativeOnly: l.runtime == "",
		Native: native,
	}, nil
}

// dtypes lists colltune's element types that nccl-tests has.
func dtypes() (all []string) {
	for _, d := range collective.DTypes() {
		if collective.NCCLTests.OfDType(d) != "" {
			all = append(all, d)
		}
	}
	return all
}

// fingerprint returns what measurements depend on: the library, the devices, the launcher,
// and the user's own variables for the library.
func (l *launched) fingerprint() map[string]string {
	f := l.known
	how := map[string]string{
		"library": strings.TrimSpace(f.library + " " + f.version), "nccl-tests": f.tests,
		"ranks": strconv.Itoa(f.ranks), "gpus": strconv.Itoa(l.gpus), "cycles": strconv.Itoa(l.cycles),
	}
	how["devices"] = countNames(f.devices)
	how["launcher"] = strings.Join(l.launcher, " ")
	how["runtime"] = l.runtime
	if l.sweep != nil {
		how["sweep"] = fmt.Sprintf("%d:%d:%d", l.sweep.least, l.sweep.most, l.sweep.factor)
	}
	if l.symmetric {
		how["symmetric"] = "true"
	}
	maps.Copy(how, libraryEnvironment())
	maps.DeleteFunc(how, func(_, v string) bool { return v == "" })
	return how
}

func (l *launched) probe(ctx context.Context) (*facts, error) {
	call := executor.Trial{Collective: collective.Spec{Name: "allreduce"}, Bytes: probeBytes, DType: "f32", Op: "sum", Iters: 1}
	program, args := l.program(nccltests.Program("allreduce")), l.arguments(&call, "allreduce", false)
	output, err := l.launch(ctx, []string{"NCCL_DEBUG=VERSION"}, program, append(slices.Clone(args), l.repeatOption()...)...)
	if err == nil && l.cycles > 1 && strings.Contains(output, "invalid option") {
		if strings.Contains(output, "--stress_cycles") {
			l.repeat = "-s" // as rccl-tests call it
		} else {
			l.cycles = 1 // tests from before 2.13.10 can't
		}
		output, err = l.launch(ctx, []string{"NCCL_DEBUG=VERSION"}, program, append(slices.Clone(args), l.repeatOption()...)...)
	}
	if err != nil {
		return nil, fmt.Errorf("nccl: %w%s", err, tail(output))
	}
	report, err := nccltests.Parse(program, []byte(output))
	if err != nil {
		return nil, fmt.Errorf("nccl: %w%s", err, tail(output))
	}
	table := report.Tables[0]
	f := &facts{ranks: table.Ranks, devices: table.Devices, tests: report.Tests, version: report.Library}
	switch {
	case len(report.Tables) > 1:
		return nil, fmt.Errorf("nccl: %d tables from one launch: every process measures for itself; nccl-tests must be built with MPI=1 to run under %s", len(report.Tables), strings.Join(l.launcher, " "))
	case f.ranks < 1:
		return nil, fmt.Errorf("nccl: the output names no device%s", tail(output))
	}
	// A second launch, because the log would break into the table.
	output, err = l.launch(ctx, debugEnvironment, program, args...)
	if err != nil {
		return nil, fmt.Errorf("nccl: with NCCL_DEBUG=INFO: %w%s", err, tail(output))
	}
	log := debuglog.Read(output)
	f.library, f.choices = log.Library, len(log.Choices)
	f.tells = f.choices > 0
	if f.library == "" {
		f.library = "nccl"
	}
	if log.Version != "" {
		f.version = log.Version
	}
	if l.symmetric {
		return f, l.probeSymmetric(ctx)
	}
	return f, nil
}

// probeSymmetric launches the tests once more with buffers registered as windows, and returns
// an error unless the library then runs symmetric kernels.
func (l *launched) probeSymmetric(ctx context.Context) error {
	call := executor.Trial{Native: &executor.Native{Algorithm: symmetric}, Collective: collective.Spec{Name: "allreduce"}, Bytes: probeBytes, DType: "f32", Op: "sum", Iters: 1}
	output, err := l.launch(ctx, debugEnvironment, l.program(nccltests.Program("allreduce")), l.arguments(&call, "allreduce", false)...)
	switch {
	case err != nil:
		return fmt.Errorf("nccl: symmetric, with -R 2: %w%s", err, tail(output))
	case len(debuglog.Read(output).Kernels) == 0:
		return fmt.Errorf("nccl: symmetric: the library's log names no symmetric kernel with nccl-tests' -R 2: want NCCL 2.27 or later, tests built with it, and GPUs of one NVLink domain%s", tail(output))
	}
	return nil
}
