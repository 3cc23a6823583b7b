package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/table"
)

// winner is a program or a native algorithm that wins at some size.
type winner struct {
	Number     int
	Title      string
	Parameters string
	Wins       []win
	Details    []detail
	Traffic    *traffic
	Steps      *steps
	Missing    string      // why there is no picture
	program    *ir.Program // nil where Missing says why
	Loads      []load
}

// win is a range of sizes at which a winner wins, with the knobs there.
type win struct{ Sizes, Knobs string }

// load reports whether a runtime would load a winner's program.
type load struct {
	Runtime, Why string
	Yes          bool
}

// The most winners shown, and the most ranges of each.
const (
	mostWinners = 16
	mostWins    = 12
)

// identity distinguishes winners: by program, or by name and settings if there is no
// program.
func identity(source, algorithm, hash string, parameters map[string]any) string {
	if source == results.SourceNative {
		return "backend " + algorithm + " " + fmt.Sprint(len(algorithm)) + parametersText(parameters)
	}
	return hash
}

// winners lists the winners of a table, by their first size. more is the number left out.
func winners(c *results.Campaign, t *table.Table, explain Explain) (all []winner, more int) {
	trials := trialsAt(c)
	at := map[string]int{}
	for i := range t.Ranges {
		r := &t.Ranges[i]
		id := identity(r.Source, r.Algorithm, r.IR, r.Parameters)
		n, known := at[id]
		if !known {
			n = len(at)
			at[id] = n
			if n < mostWinners {
				all = append(all, newWinner(c, r, n+1, trials))
			}
		}
		if n >= mostWinners {
			continue
		}
		w := &all[n]
		if len(w.Wins) == mostWins {
			w.Wins = append(w.Wins, win{"…", ""})
		} else if len(w.Wins) < mostWins {
			w.Wins = append(w.Wins, win{rangeText(r.MinBytes, lastMeasured(t, r)) + " " + results.PlacementText(r.Placement), knobs(r.Protocol, r.TileBytes)})
			if len(w.Wins) > mostExplained {
				continue
			}
			if d, ok := explained(t, r, w.program, explain); ok {
				w.Details = append(w.Details, d)
			}
		}
	}
	return all, len(at) - len(all)
}

// lastMeasured is the last measured size of a range. The range itself ends just
// below the next one.
func lastMeasured(t *table.Table, r *table.Range) int64 {
	last := r.MinBytes
	for i := range t.Rows {
		if row := &t.Rows[i]; row.Placement == r.Placement && row.Bytes >= r.MinBytes && row.Bytes <= r.MaxBytes {
			last = max(last, row.Bytes)
		}
	}
	return last
}

// knobs prints the protocol and the tile of a trial.
func knobs(protocol string, tile int64) string {
	if tile == 0 {
		return protocol
	}
	return protocol + ", tile " + sizeText(tile)
}

// configuration identifies a trial of a program.
type configuration struct {
	program, placement, protocol string
	bytes, tile                  int64
}

// trialsAt indexes the trials of programs.
func trialsAt(c *results.Campaign) map[configuration]*results.Trial {
	trials := c.Trials()
	at := map[configuration]*results.Trial{}
	for i := range trials {
		t := &trials[i]
		if t.Source != results.SourceNative {
			at[configuration{t.Program, t.Placement, t.Protocol, t.Bytes, t.TileBytes}] = t
		}
	}
	return at
}

// newWinner describes the program of a range.
func newWinner(c *results.Campaign, r *table.Range, number int, trials map[configuration]*results.Trial) winner {
	w := winner{Number: number, Title: clip(r.Algorithm, nameRoom), Parameters: parametersText(r.Parameters)}
	if r.Source == results.SourceNative {
		w.Missing = "An algorithm of the executor's own, of which only the name and settings are known."
		if set := r.Setting(); set != "" {
			w.Missing = "A setting of the library's own, whose time a model says."
			w.Details = []detail{{"set by", clip(set, noteRoom), false}}
			return w
		}
		if r.Channels > 0 {
			w.Details = append(w.Details, detail{"channels", strconv.Itoa(r.Channels), false})
		}
		return w
	}
	source := "a template"
	if r.Source != "template" {
		source = clip(r.Source, wordRoom)
	}
	w.Details = []detail{
		{"from", source, false},
		{"channels", strconv.Itoa(r.Channels), false},
		{"instances", strconv.Itoa(r.Instances), false},
	}
	trial := trials[configuration{r.IR, r.Placement, r.Protocol, r.MinBytes, r.TileBytes}]
	if trial != nil {
		w.Details = append(w.Details,
			detail{"threadblocks", fmt.Sprintf("at most %d on a GPU; the longest has %s", trial.Threadblocks, units.Count(trial.Steps, "step")), false},
			detail{"chunks", fmt.Sprintf("the size is divided into %d", trial.LoopChunks), false})
	}
	w.Details = append(w.Details,
		detail{"granularity", fmt.Sprintf("runtimes run it at sizes that are multiples of %s", units.Count(int(r.Granularity), "byte")), false},
		detail{"program", r.IR, true})
	p, err := c.Program(r.IR)
	if err != nil {
		w.Missing = "Its program can't be read: it is missing from the campaign's folder, or changed."
		return w
	}
	if trial != nil {
		w.Traffic = trafficOf(p, trial.LoopChunks)
	}
	w.Steps, w.program = stepsOf(p), p
	for _, runtime := range export.Runtimes() {
		why := runtime.Loads(p, r.Protocol, c.Plan())
		w.Loads = append(w.Loads, load{runtime.Name, clip(why, noteRoom), why == ""})
	}
	return w
}

func exportCommands(t *table.Table, winners []winner) (commands []string) {
	var loads []string
	for _, w := range winners {
		for _, l := range w.Loads {
			if l.Yes && !slices.Contains(loads, l.Runtime) {
				loads = append(loads, l.Runtime)
			}
		}
	}
	slices.Sort(loads)
	for _, name := range loads {
		if runtime, err := export.RuntimeNamed(name); err == nil {
			words := "--to " + runtime.Export.To
			if dialect := runtime.Export.Runtime; dialect != "" {
				words += " --runtime " + dialect
			}
			commands = append(commands, "colltune export CAMPAIGN "+words+" --out FOLDER")
		}
	}
	native, programs := false, false
	for i := range t.Ranges {
		native = native || t.Ranges[i].Source == results.SourceNative && t.Ranges[i].Setting() == ""
		programs = programs || t.Ranges[i].Source != results.SourceNative
	}
	if native {
		commands = append(commands, "colltune export CAMPAIGN --to nccl-tuner-csv --out FOLDER")
	}
	if programs {
		commands = append(commands, "colltune export CAMPAIGN --to ir --out FOLDER")
	}
	if t.Campaign.SharedGPUs != nil {
		for i := range commands {
			commands[i] += " --shared-gpu"
		}
	}
	return commands
}

func formatsText() string { return strings.Join(export.Formats(), ", ") }
