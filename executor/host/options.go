package host

import (
	"log/slog"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/memory"
)

// DefaultStartTimeout is how long a start may take unless Options say otherwise.
const DefaultStartTimeout = time.Minute

// Options are where an executor is looked for, and its host's limits. The zero value is
// ready to use.
type Options struct {
	// Dirs are looked through for plugins before PATH.
	Dirs []string
	// Env adds NAME=VALUE pairs to the executor's environment.
	Env []string
	// StartTimeout is how long an executor may take from its start to its
	// first Describe. 0: one minute.
	StartTimeout time.Duration
	// TrialTimeout is a trial's deadline. 0: executor.DefaultTrialTimeout.
	TrialTimeout time.Duration
	// StuckAfter is how long a trial that has reported progress may stand still, and any
	// trial go without a heartbeat. 0: 30 seconds.
	StuckAfter time.Duration
	// Starts is how many times in a row an executor is started before it is
	// lost. 0: 3.
	Starts int
	// Backoff is the pause before the second start in a row; it doubles from
	// start to start, up to five seconds. 0: 100 ms.
	Backoff time.Duration
	// StderrBytes is how much of the executor's last output is kept for errors. 0: 256
	// KiB.
	StderrBytes int
	// Memory is how many bytes the executor and all that it starts may use before
	// they are ended. 0: nine tenths of the machine's; below 0: any number.
	Memory int64
	// Identity holds an executor to its first description, however often it is
	// started. Several hosts of one executor share one. nil: the host's own.
	Identity *Identity
	// Logger gets go-plugin's log. nil: nothing is logged.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.StartTimeout, DefaultStartTimeout)
	def(&o.TrialTimeout, executor.DefaultTrialTimeout)
	def(&o.StuckAfter, 30*time.Second)
	def(&o.Backoff, 100*time.Millisecond)
	if o.Identity == nil {
		o.Identity = new(Identity)
	}
	if o.Starts == 0 {
		o.Starts = 3
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory()
	}
	if o.StderrBytes == 0 {
		o.StderrBytes = 256 << 10
	}
	return o
}

// defaultMemory is nine tenths of the memory of this machine, or of the container
// we run in. 0: unknown.
func defaultMemory() int64 { return memory.Machine() / 10 * 9 }
