//go:build unix

package executortest

import "github.com/colltune/colltune/executor"

// Shell returns a launcher that is a line of shell.
func Shell(line string) []string { return []string{"sh", "-c", line, "launcher"} }

// Launchers are configured executors behind launchers that behave like mpirun, srun and
// ssh, or fail like them: the executor's kind, and the line of shell.
var Launchers = map[string]struct {
	Kind string
	Line string
}{
	"far":          {"well", `exec "$@"`},
	"far-talks":    {"well", `echo "Welcome to node17"; printf "no end of line"; exec "$@"`},
	"far-labels":   {"well", `"$@" | sed -u 's/^/[1,0]<stdout>: /'`},
	"far-dies":     {"well", `echo "ssh: no route to host" >&2; exit 255`},
	"far-silent":   {"well", `sleep 60`},
	"far-panics":   {"panics", `exec "$@"`},
	"far-exits":    {"exits", `exec "$@"`},
	"far-once":     {"panics-once", `exec "$@"`},
	"far-hangs":    {"hangs", `exec "$@"`},
	"far-still":    {"stands-still", `exec "$@"`},
	"far-slow":     {"slow", `exec "$@"`},
	"far-floods":   {"floods", `exec "$@"`},
	"far-refuses":  {"refuses", `exec "$@"`},
	"far-error":    {"answers-error", `exec "$@"`},
	"far-unknown":  {"nobody", `exec "$@"`},
	"far-children": {"leaves-a-child", `sleep 7200 & echo $! > $COLLTUNE_EXECUTOR_STATE/launched; echo $$ > $COLLTUNE_EXECUTOR_STATE/launcher; exec "$@"`},
	"far-lonely":   {"exits", `OMPI_COMM_WORLD_RANK=1 exec "$@"`},
	"far-crowd":    {"refuses", `export PMI_SIZE=2; PMI_RANK=1 "$@" </dev/null & PMI_RANK=0 exec "$@"`},
	"far-step":     {"refuses", `export PMIX_RANK=0 SLURM_STEP_NUM_TASKS=3; exec "$@"`},
	"far-single":   {"refuses", `export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=3; exec "$@"`},
	"far-queued":   {"well", Minds + `sleep 600 & wait`},
	"far-minds":    {"hangs", Minds + `exec 3<&0; "$@" <&3 & wait`},
}

// Minds begins a launcher that must be asked to end, and then leaves the file "told".
const Minds = `trap 'echo $$ > $COLLTUNE_EXECUTOR_STATE/told; exit' TERM; echo $$ > $COLLTUNE_EXECUTOR_STATE/launcher; `

func init() {
	for name, l := range Launchers {
		if err := executor.Configure(name, executor.Configured{Kind: l.Kind, Launcher: Shell(l.Line)}); err != nil {
			panic(err)
		}
	}
}
