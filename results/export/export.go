package export

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/results/tuning"
)

// ErrNothingFits is wrapped by the error of an export whose runtime would run none of the
// measured programs.
var ErrNothingFits = errors.New("nothing to export")

// ErrSharedGPU is the error of exporting a campaign whose ranks shared GPUs, unless
// Options.SharedGPU asks for it.
var ErrSharedGPU = errors.New("no system with a GPU for each rank has such times")

// Options selects a format, its runtime, and a folder.
type Options struct {
	To      string // a name of Formats
	Runtime string // of msccl-xml: a name of Runtimes; empty: msccl
	Out     string // folder, which is made if it does not exist
	// LL128 states that msccl enables LL128 on this system.
	LL128 bool
	// Node, for mscclpp-json, is the node of a rank, within which ranks reach each
	// other's memory; nil: all are on one.
	Node func(rank int) int
	// Unloaded, for msccl-xml, says that the library's release that the campaign was compared with loads
	// no files; empty where it does.
	Unloaded string
	// Left, for nccl-tuner-csv, is what NCCL runs by itself.
	Left tuning.Left
	// KeepSlower exports sizes at which the library is as fast or faster, too.
	KeepSlower bool
	// MaxSMs is how many SMs a program may take; 0: any number.
	MaxSMs int
	// Clock computes times between the campaign's sizes; nil: nothing can.
	Clock Clock
	// SharedGPU asks for the export of a campaign whose ranks shared GPUs.
	SharedGPU bool
	// Stage, unless it is nil, is told what takes long, and how far it is.
	Stage func(what string, done, of int)
}

// The stages of an export of programs, in their order.
const (
	Choosing = "choosing files"
	Timing   = "timing files between sizes"
	Writing  = "writing files"
)

// reach tells of n steps of a stage that are done.
func (o *Options) reach(what string, done, of int) {
	if o.Stage != nil {
		o.Stage(what, done, of)
	}
}

// Report lists the files of an export, and the sizes at which they are slower than the
// winner.
type Report struct {
	Format  string `json:"format"`
	Runtime string `json:"runtime,omitempty"`
	Files   []File `json:"files"`
	Losses  []Loss `json:"losses"` // sizes where the runtime gets less than the winner
	Gaps    []Gap  `json:"gaps"`   // sizes where the runtime falls back to its own
	// Summary says what the export gains; null of a format that chooses nothing.
	Summary *Summary `json:"summary"`
	Notes   []string `json:"notes"`
	// Warnings are about times with several ranks on a GPU, or without a check of data.
	Warnings []string `json:"warnings"`
	Load     []string `json:"load,omitempty"` // how to load the folder, a line each

	list, pattern string // of files in Load: setList
}

// File is one exported file and the calls it serves.
type File struct {
	Name        string `json:"name"`
	Placement   string `json:"placement,omitempty"`
	Algorithm   string `json:"algorithm,omitempty"`
	Protocol    string `json:"protocol,omitempty"`
	MinBytes    int64  `json:"min_bytes,omitempty"`
	MaxBytes    int64  `json:"max_bytes,omitempty"`         // inclusive
	Granularity int64  `json:"granularity_bytes,omitempty"` // the file serves multiples of it
	TileBytes   int64  `json:"tile_bytes,omitempty"`        // of the program's pipeline
	IR          string `json:"ir,omitempty"`                // hash
	Unchecked   bool   `json:"unchecked,omitempty"`         // the data of some measurements behind it were not checked
	Nodes       int    `json:"nodes,omitempty"`             // of a map
}

// Loss is a size at which the exported program is slower than the winner.
type Loss struct {
	Bytes      int64   `json:"bytes"`
	Placement  string  `json:"placement"`
	Winner     string  `json:"winner"`
	WinnerUS   float64 `json:"winner_us"`
	Exported   string  `json:"exported"`
	ExportedUS float64 `json:"exported_us"`
	Percent    float64 `json:"percent"`         // how much longer it takes
	Why        string  `json:"why"`             // why the winner is not exported
	Nodes      int     `json:"nodes,omitempty"` // of a map
}

// Gap is a size for which nothing is exported.
type Gap struct {
	Bytes     int64  `json:"bytes"`
	Placement string `json:"placement"`
	Reason    Reason `json:"reason"`
	Why       string `json:"why"`
	Nodes     int    `json:"nodes,omitempty"` // of a map
}

// format is a row of the table of exports.
type format struct {
	name  string
	doc   string
	write func(*results.Campaign, Options, *Report) error // adds what it wrote to the report
}

// formats is the table of exports.
var formats = []format{
	{"msccl-xml", "MSCCL XML with size ranges, in the dialect of --runtime", exportMSCCL},
	{"mscclpp-json", "execution plans of MSCCL++ with size ranges", exportPlans},
	{"nccl-tuner-csv", "the configuration of NCCL's example tuner plugin, of its own algorithms", exportTuner},
	{"ir", "the winners' programs as colltune's own JSON, and their ranges", exportIR},
	{"mcr-dl", "the table by which MCR-DL takes a backend for each message size", exportMCRDL},
}

// Formats lists the formats that Write can write.
func Formats() []string {
	return lists.Map(formats, func(f format) string { return f.name })
}

// Write writes a campaign's winners into a folder, without folders below it.
// Equal campaigns give equal bytes. It replaces the files of an earlier export of
// the same calls (collective, ranks and placement), and removes and reports those
// that are no longer needed. Other files are left alone, so that one folder can
// serve many collectives. The error wraps ErrNothingFits or ErrSharedGPU, or is a
// *ForeignFileError: another's file has the name of one to be written, and nothing is
// written.
func Write(c *results.Campaign, o Options) (Report, error) {
	for _, f := range formats {
		if f.name != o.To {
			continue
		}
		if o.Out == "" {
			return Report{}, fmt.Errorf("export to %s: no folder to write to", o.To)
		}
		place, err := placeOf(c, o)
		if err != nil {
			return Report{}, err
		}
		report := Report{Format: f.name, Files: []File{}, Losses: []Loss{}, Gaps: []Gap{}, Notes: []string{}}
		if err := f.write(c, o, &report); err != nil {
			return Report{}, err
		}
		report.warn(place)
		if slices.ContainsFunc(c.Trials(), isSymmetric) {
			report.note(symmetricKernels)
		}
		if !c.Finished() {
			report.note("the search is not finished: after colltune resume, the files may be others")
		}
		return report, nil
	}
	return Report{}, fmt.Errorf("unknown export format %q: want one of %s", o.To, strings.Join(Formats(), ", "))
}

// placeOf returns the note on what a campaign's times are of. The error wraps ErrSharedGPU.
func placeOf(c *results.Campaign, o Options) (note string, err error) {
	executor, _ := c.Executor()
	topology := c.Plan().Topology
	note = executor.PlaceNote(topology.Ranks, topology.Name)
	if executor.SharedGPUs(topology.Ranks) > 0 && !o.SharedGPU {
		return "", fmt.Errorf("campaign %s: %s: %w", c.Dir(), note, ErrSharedGPU)
	}
	return note, nil
}

// symmetricKernels is the note on a campaign that measured NCCL's symmetric kernels.
const symmetricKernels = "NCCL's symmetric kernels were measured: they need buffers registered as windows; NCCL_SYM_KERNEL and NCCL_SYM_CTAS choose them for a whole process, are no stable interface, and no tuner plug-in reaches them: measure again after an update of NCCL"

// isSymmetric reports whether a trial timed a symmetric kernel of NCCL's.
func isSymmetric(t results.Trial) bool {
	return t.IsNative() && !t.IsSetting() && t.Algorithm == "symmetric" && t.Outcome == results.OK
}

func (r *Report) warn(place string) {
	r.Warnings = []string{}
	if place != "" {
		r.Warnings = append(r.Warnings, place)
	}
	var names []string
	for _, f := range r.Files {
		if f.Unchecked && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	if len(names) > 0 {
		const most = 8
		if n := len(names); n > most {
			names = append(names[:most], fmt.Sprintf("and %d more", n-most))
		}
		r.Warnings = append(r.Warnings, "unchecked: the data of measurements behind "+strings.Join(names, ", "))
	}
}

// addLoss reports a size at which something slower than the winner is exported.
func (r *Report) addLoss(at table.Cell, winner string, winnerUS float64, exported string, us float64, why string) {
	if us > winnerUS {
		r.Losses = append(r.Losses, Loss{
			Bytes: at.Bytes, Placement: at.Placement, Winner: winner, WinnerUS: winnerUS,
			Exported: exported, ExportedUS: us, Percent: (us/winnerUS - 1) * 100, Why: why,
		})
	}
}

// addGap reports a size for which the runtime would run nothing that was measured.
func (r *Report) addGap(at table.Cell, why string) {
	r.Gaps = append(r.Gaps, Gap{Bytes: at.Bytes, Placement: at.Placement, Reason: Refused, Why: why})
}

// leave reports a size for which nothing is exported.
func (r *Report) leave(at table.Cell, reason Reason, why string) {
	r.Gaps = append(r.Gaps, Gap{Bytes: at.Bytes, Placement: at.Placement, Reason: reason, Why: why})
	r.Summary.leave(reason)
}

func (r *Report) note(lines ...string) { r.Notes = append(r.Notes, lines...) }

// exportable lists the configurations measured at each size, fastest first.
func exportable(c *results.Campaign, sms int) (map[table.Cell][]table.Measured, error) {
	all := table.Measurements(c.Trials())
	if len(all) == 0 {
		return nil, nothingMeasured(c)
	}
	for at, ms := range all {
		all[at] = table.Within(ms, sms)
	}
	return all, nil
}

func nothingMeasured(c *results.Campaign) error {
	return fmt.Errorf("campaign %s: nothing measured yet: %w", c.Dir(), ErrNothingFits)
}

// provenance returns the lines in every exported file about its origin and the
// measurements behind it. It has no times or paths, so that equal campaigns export equal
// bytes.
func provenance(c *results.Campaign, behind table.Evidence) []string {
	p := c.Plan()
	executor, _ := c.Executor()
	lines := []string{
		madeBy + p.Version,
		p.Command(),
		fmt.Sprintf("topology %s %s", p.Topology.Name, p.Topology.Hash),
		fmt.Sprintf("executor %s %s", executor.Name, executor.Hash()),
		fmt.Sprintf("seed %d", p.Seed),
	}
	if t, err := table.Build(c); err == nil && t.BaselineLine() != "" {
		lines = append(lines, t.BaselineLine())
	}
	if place := executor.PlaceNote(p.Topology.Ranks, p.Topology.Name); place != "" {
		lines = append(lines, place)
	}
	return append(lines, behind.Lines()...)
}
