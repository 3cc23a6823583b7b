package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/host"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/executor/wire"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/topologies"
)

// Check is one case, and how the executor did.
type Check struct {
	Name   string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Run holds an executor to the protocol, from its description to its goodbye: the rows of
// checks below, and a trial of everything that it claims to support. The error is that the
// executor doesn't start, or ctx's; whatever else goes wrong is in the checks.
func Run(ctx context.Context, name string, o host.Options) (executor.Description, []Check, error) {
	if o.TrialTimeout == 0 {
		o.TrialTimeout = checkTimeout
	} else if o.StartTimeout == 0 {
		// The limit of a trial is meant for a start too.
		o.StartTimeout = min(max(o.TrialTimeout, shortestStart), host.DefaultStartTimeout)
	}
	starter, err := host.NewStarter(name, o)
	if err != nil {
		return executor.Description{}, nil, err
	}
	defer starter.Close()
	x := &conformance{ctx: ctx, starter: starter}
	if err := x.start(); err != nil {
		return executor.Description{}, nil, err
	}
	defer func() { x.worker.Stop() }()
	x.desc = x.worker.Description
	var done []Check
	for _, row := range append(append(slices.Clone(checks), x.trials()...), endings...) {
		if row.when != nil && !row.when(x) {
			continue
		}
		detail, err := row.ask(x)
		if ctx.Err() != nil {
			return x.desc, done, ctx.Err()
		}
		done = append(done, Check{row.name, err == nil, detail})
		if err != nil {
			done[len(done)-1].Detail = err.Error()
		}
		// The connection breaks a moment before the end of the process is seen.
		if err != nil && !x.over && x.worker.EndsAfter(err, 200*time.Millisecond) {
			if err := x.start(); err != nil {
				return x.desc, done, err
			}
		}
	}
	return x.desc, done, nil
}

// conformance is a check in progress.
type conformance struct {
	ctx     context.Context
	starter *host.Starter
	worker  *host.Worker
	desc    executor.Description
	over    bool // it has been told to end

	iters int // of a trial that takes two seconds; 0: none was found
}

func (x *conformance) start() error {
	for starts := 1; ; starts++ {
		w, err := x.starter.Start(x.ctx)
		switch {
		case err == nil:
			x.worker = w
			return nil
		case x.ctx.Err() != nil:
			return x.ctx.Err()
		case (errors.Is(err, executor.ErrUnavailable) || errors.Is(err, executor.ErrSettings)) && x.worker == nil:
			return err // as the host does: another start would change nothing
		case starts == x.starter.Options.Starts:
			return &executor.LostError{Executor: x.starter.Name(), Starts: starts, Last: err}
		}
		if err := x.starter.Pause(x.ctx, starts); err != nil {
			return err
		}
	}
}

// checkRow is one case. It is run if when is nil or returns true. ask returns a detail to
// print, or an error that says what is wrong.
type checkRow struct {
	name string
	when func(*conformance) bool
	ask  func(*conformance) (string, error)
}

var checks = []checkRow{
	{"describe", nil, func(x *conformance) (string, error) {
		d := &x.desc
		if d.Name == "" || d.Version == "" {
			return "", fmt.Errorf("name %q, version %q: want both", d.Name, d.Version)
		}
		ranks := "any number"
		if d.MaxRanks > 0 {
			ranks = fmt.Sprintf("up to %d", d.MaxRanks)
		}
		return fmt.Sprintf("%s %s, deterministic: %v, ranks: %s, devices: %d", d.Name, d.Version, d.Deterministic, ranks, len(d.Devices)), nil
	}},
	{"describe again", nil, func(x *conformance) (string, error) {
		ctx, cancel := context.WithTimeout(x.ctx, x.starter.Options.TrialTimeout)
		defer cancel()
		again, err := x.worker.Describe(ctx)
		if err == nil && fmt.Sprint(again) != fmt.Sprint(x.desc) {
			err = fmt.Errorf("says %+v, before %+v", again, x.desc)
		}
		return "the same", err
	}},
	{"fingerprint", nil, func(x *conformance) (string, error) {
		if len(x.desc.Fingerprint) == 0 {
			return "", errors.New("none: a measurement always depends on something")
		}
		pairs := lists.Map(slices.Sorted(maps.Keys(x.desc.Fingerprint)), func(name string) string { return name + "=" + x.desc.Fingerprint[name] })
		return strings.Join(pairs, " "), nil
	}},
	{"traits", nil, checkDescription},
	{"loads in small pieces", nil, func(x *conformance) (string, error) {
		doc := x.topology(2).Encode()
		piece := max(7, len(doc)/200)
		if err := x.load(protocol.DocumentKind_DOCUMENT_KIND_TOPOLOGY, x.topology(2).Hash(), doc, len(doc), piece); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d bytes, %d at a time", len(doc), piece), nil
	}},
	{"refuses a document cut short", nil, func(x *conformance) (string, error) {
		doc := x.topology(2).Encode()
		err := x.load(protocol.DocumentKind_DOCUMENT_KIND_TOPOLOGY, "cut", doc[:len(doc)/2], len(doc), wire.ChunkBytes)
		return wantStatus(err, codes.InvalidArgument)
	}},
	{"refuses a document too long", nil, func(x *conformance) (string, error) {
		doc := x.topology(2).Encode()
		err := x.load(protocol.DocumentKind_DOCUMENT_KIND_TOPOLOGY, "long", doc, len(doc)/2, wire.ChunkBytes)
		return wantStatus(err, codes.InvalidArgument)
	}},
	{"refuses a broken program", runsPrograms, func(x *conformance) (string, error) {
		text := []byte(`{"schema":"colltune.ir/v1", "gpus": [`)
		err := x.load(protocol.DocumentKind_DOCUMENT_KIND_PROGRAM, "broken", text, len(text), wire.ChunkBytes)
		if err == nil { // it looks at programs only when it is to run them
			if err = x.loadTopology(2); err != nil {
				return "", err
			}
			r := wire.EncodeTrial(x.trial(2), "broken", x.topology(2).Hash())
			_, err = x.call(r)
		}
		return wantStatus(err, codes.InvalidArgument)
	}},
	{"knows documents by their hash", runsPrograms, func(x *conformance) (string, error) {
		t := x.trial(2)
		doc, err := wire.EncodeProgram(t.Program)
		if err != nil {
			return "", err
		}
		err = x.load(protocol.DocumentKind_DOCUMENT_KIND_PROGRAM, strings.Repeat("0", 64), doc, len(doc), wire.ChunkBytes)
		if err == nil {
			return "took one under another's hash: it computes none", nil
		}
		return wantStatus(err, codes.InvalidArgument)
	}},
	{"asks for a program it lacks", runsPrograms, func(x *conformance) (string, error) {
		if err := x.loadTopology(2); err != nil {
			return "", err
		}
		_, err := x.call(wire.EncodeTrial(x.trial(2), "of-no-program", x.topology(2).Hash()))
		return wantStatus(err, codes.NotFound)
	}},
	{"asks for a topology it lacks", nil, func(x *conformance) (string, error) {
		t := x.smallTrial()
		if t.Program != nil {
			if err := x.loadProgram(&t); err != nil {
				return "", err
			}
		}
		_, err := x.call(wire.EncodeTrial(t, x.programHash(&t), "of-no-topology"))
		return wantStatus(err, codes.NotFound)
	}},
}

func runsPrograms(x *conformance) bool { return !x.desc.NativeOnly }

// checkDescription checks the description's lists: known names, each once.
func checkDescription(x *conformance) (string, error) {
	d := &x.desc
	for _, list := range []struct {
		what   string
		has    []string
		known  []string
		needed bool
	}{
		{"protocol", d.Protocols, topologies.ProtocolNames(), !d.NativeOnly},
		{"dtype", d.DTypes, collective.DTypes(), true},
		{"operation", d.Operations, operations, false},
	} {
		if len(list.has) == 0 && list.needed {
			return "", fmt.Errorf("no %s: want some of %s", list.what, strings.Join(list.known, ", "))
		}
		seen := map[string]bool{}
		for _, s := range list.has {
			if !slices.Contains(list.known, s) || seen[s] {
				return "", fmt.Errorf("%s %q: want each once, and of %s", list.what, s, strings.Join(list.known, ", "))
			}
			seen[s] = true
		}
	}
	if d.NativeOnly && len(d.Native) == 0 {
		return "", errors.New("it runs no programs, and has no algorithms of its own")
	}
	return fmt.Sprintf("protocols %s; dtypes %s; operations %s", strings.Join(d.Protocols, " "), strings.Join(d.DTypes, " "), strings.Join(d.Operations, " ")), nil
}

// operations are the reductions that a trial may have.
var operations = []string{"sum", "prod", "min", "max", "avg"}

// wantStatus checks that err is a gRPC status with the given code.
func wantStatus(err error, code codes.Code) (string, error) {
	switch s := status.Convert(err); {
	case err == nil:
		return "", fmt.Errorf("took it: want status %s", code)
	case s.Code() != code:
		return "", fmt.Errorf("status %s (%s): want %s", s.Code(), s.Message(), code)
	default:
		return fmt.Sprintf("%s: %s", code, s.Message()), nil
	}
}

// checkTimeout is a trial's deadline where none is given. patience is how long a busy
// machine may take to answer what needs no work, and shortestStart even for an easy start.
const (
	checkTimeout  = 30 * time.Second
	patience      = 30 * time.Second
	shortestStart = 5 * time.Second
)
