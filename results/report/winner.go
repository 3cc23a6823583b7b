package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/table"
)

// winner is a program, or a native algorithm, that wins at some
// size.
type winner struct {
	Number     int
	Title      string
	Parameters string
	Wins       []win
	Facts      []fact
	Traffic    *traffic
	Steps      *steps
	Without    string // why there is no picture
	Loads      []load
}

// win says at which sizes a winner wins, and with which knobs.
type win struct{ Sizes, Knobs string }

// load says whether a runtime would load a winner's program.
type load struct {
	Runtime, Why string
	Yes          bool
}

// How many winners are shown, and how many wins of each.
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

// winners lists those of a table, by their first size. more is how many there was
// no room for.
func winners(c *results.Campaign, t *table.Table) (all []winner, more int) {
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
			w.Wins = append(w.Wins, win{rangeText(r.MinBytes, lastMeasured(t, r)) + " " + placementText(r.Placement), knobs(r.Protocol, r.TileBytes)})
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

// knobs prints what a trial was run with.
func knobs(protocol string, tile int64) string {
	if tile == 0 {
		return protocol
	}
	return protocol + ", tile " + sizeText(tile)
}

// cell is where a trial was made.
type cell struct {
	program, placement, protocol string
	bytes, tile                  int64
}

// trialsAt finds the trials of programs by what a range is known by.
func trialsAt(c *results.Campaign) map[cell]*results.Trial {
	trials := c.Trials()
	at := map[cell]*results.Trial{}
	for i := range trials {
		t := &trials[i]
		if t.Source != results.SourceNative {
			at[cell{t.Program, t.Placement, t.Protocol, t.Bytes, t.TileBytes}] = t
		}
	}
	return at
}

// newWinner describes the program of a range.
func newWinner(c *results.Campaign, r *table.Range, number int, trials map[cell]*results.Trial) winner {
	w := winner{Number: number, Title: clip(r.Algorithm, nameRoom), Parameters: parametersText(r.Parameters)}
	if r.Source == results.SourceNative {
		w.Without = "An algorithm of the executor's own, of which only the name and settings are known."
		if r.Channels > 0 {
			w.Facts = append(w.Facts, fact{"channels", strconv.Itoa(r.Channels), false})
		}
		return w
	}
	source := "a template"
	if r.Source != "template" {
		source = clip(r.Source, wordRoom)
	}
	w.Facts = []fact{
		{"from", source, false},
		{"channels", strconv.Itoa(r.Channels), false},
		{"instances", strconv.Itoa(r.Instances), false},
	}
	trial := trials[cell{r.IR, r.Placement, r.Protocol, r.MinBytes, r.TileBytes}]
	if trial != nil {
		w.Facts = append(w.Facts,
			fact{"threadblocks", fmt.Sprintf("at most %d on a GPU; the longest has %s", trial.Threadblocks, many(trial.Steps, "step")), false},
			fact{"chunks", fmt.Sprintf("the size is divided into %d", trial.LoopChunks), false})
	}
	w.Facts = append(w.Facts,
		fact{"granularity", fmt.Sprintf("runtimes run it at sizes that are multiples of %s", many(int(r.Granularity), "byte")), false},
		fact{"program", r.IR, true})
	p, err := c.Program(r.IR)
	if err != nil {
		w.Without = "Its program can't be read: it is missing from the campaign's folder, or changed."
		return w
	}
	if trial != nil {
		w.Traffic = trafficOf(p, trial.LoopChunks)
	}
	w.Steps = stepsOf(p)
	for _, runtime := range export.Runtimes() {
		why := runtime.Loads(p, r.Protocol, c.Plan())
		w.Loads = append(w.Loads, load{runtime.Name, clip(why, noteRoom), why == ""})
	}
	return w
}

// take lists the commands that export the winners for their runtimes.
func take(t *table.Table, winners []winner) (commands []string) {
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
		native = native || t.Ranges[i].Source == results.SourceNative
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

// formatsText lists the formats that a campaign can be exported to.
func formatsText() string { return strings.Join(export.Formats(), ", ") }
