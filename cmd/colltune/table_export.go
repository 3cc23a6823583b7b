package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/search/libraries"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/topologies"
)

func tableExportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export TABLE --to FORMAT --out PATH",
		Short: "Write a table as files by which a library or a framework chooses",
		Long: `export writes, for each collective and number of ranks of a table, what is the fastest
over which sizes, in a form that NCCL, RCCL, NCCLX, MSCCL++, vLLM, SGLang or MCR-DL loads.
Ranges are exact to the byte where the form has bytes. What a form can't say is told, and
so is each size at which the fastest of the table is not in it.

  colltune table export times.table --to mcr-dl --out tables
  colltune table export times.table --to json -c allreduce --ranks 8 --out choices

All files are written, or none.`,
		Args: exactArgs("the file TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, _ := cmd.Flags().GetString("out")
			switch {
			case flagValue(cmd, "to") == "":
				return usagef("--to is missing: want one of %s", strings.Join(tuning.Names(), ", "))
			case out == "":
				return usagef("--out is missing: want the folder to write to")
			}
			format, err := tuning.Named(flagValue(cmd, "to"))
			if err != nil {
				return usagef("--to %w", err)
			}
			release, err := format.Release(flagValue(cmd, "release"))
			if err != nil {
				return usagef("--release %w", err)
			}
			q, err := tableFilter(cmd)
			if err != nil {
				return err
			}
			t, err := readTable(cmd, args[0])
			if err != nil {
				return err
			}
			if t = t.Select(q); len(t.Rows) == 0 {
				return usagef("%s: the table has no times under these conditions", args[0])
			}
			var rows bytes.Buffer
			if err := t.Write(&rows, ""); err != nil {
				return err
			}
			head := []string{
				export.Provenance(buildVersion().Version),
				"colltune table export --to " + format.Name,
				fmt.Sprintf("of %s, sha256 %x", units.Count(len(t.Rows), "time"), sha256.Sum256(rows.Bytes())),
			}
			o := tuning.Options{Head: head, Release: release}
			o.KeepSlower, _ = cmd.Flags().GetBool("keep-slower")
			if format.All {
				o.Left = library.Release{}.Left(func(nodes, gpus int) (*topologies.Topology, error) { return partOf(cmd, nodes, gpus) })
			}
			e, err := t.Export(format, o)
			switch {
			case errors.Is(err, libraries.ErrLeft):
				return &nothingError{fmt.Errorf("%s: %w", args[0], err)}
			case err != nil:
				return usagef("%s: %w", args[0], err)
			}
			if len(e.Files()) == 0 {
				return &nothingError{fmt.Errorf("%s: %s can say nothing of it: %s", args[0], format.Name, e.Gaps[0].Why)}
			}
			notes, err := export.WriteFiles(out, format.Pattern, e.Files())
			if err != nil {
				return err
			}
			d := tableExportDocument(format, e, notes, out)
			d.tell(cmd.ErrOrStderr())
			return writeResult(cmd, cmd.OutOrStdout(), "table-export", d, tableExportSheet(d))
		},
	}
	choiceFlag(cmd, "to", "", "", tuning.Names(), "what to write")
	choiceFlag(cmd, "format", "o", "table", formats, "how to print what was written")
	columnFlags(cmd)
	callFlags(cmd)
	topologyFlag(cmd)
	cmd.Flags().Lookup("topology").Usage += "; for nccl-tuner-csv, whose files have rows of what NCCL runs there by itself, too"
	cmd.Flags().Bool("keep-slower", false, "export what is not known to be faster than the library's own choice, too")
	cmd.Flags().String("out", "", "the folder `PATH` to write to")
	cmd.Flags().String("release", "", "the `RELEASE` of the library that loads the files, where they differ by it: of nccl-sym-env 2.27 to 2.32 (default the newest)")
	return cmd
}

// partOf returns the system of -t with a number of nodes, and the first GPUs of each.
func partOf(cmd *cobra.Command, nodes, gpus int) (*topologies.Topology, error) {
	name := flagValue(cmd, "topology")
	if name == "" {
		return nil, errors.New("-t is missing: want the system whose NCCL is to be tuned, such as dgx-h100")
	}
	whole, err := topologies.Resolve(name, topologies.Options{Nodes: nodes})
	if err != nil {
		return nil, err
	}
	has := len(whole.Ranks) / whole.Nodes
	if gpus == has {
		return whole, nil
	}
	if gpus > has {
		return nil, fmt.Errorf("%s has %s on a node, and the table %d: want another -t, or --ranks %d", name, units.Count(has, "GPU"), gpus, has*nodes)
	}
	first := make([]int, gpus)
	for i := range first {
		first[i] = i
	}
	return topologies.Resolve(name, topologies.Options{Nodes: nodes, GPUs: first})
}

// tableFilter reads the flags of a call, none of which has to be given.
func tableFilter(cmd *cobra.Command) (q libraries.Query, err error) {
	if typed(cmd, "collective") {
		if q.Collective, err = collectiveName(cmd); err != nil {
			return q, err
		}
	}
	if q.Ranks, _ = cmd.Flags().GetInt("ranks"); q.Ranks < 1 && typed(cmd, "ranks") {
		return q, usagef("--ranks %d: want at least 1", q.Ranks)
	}
	return q, queryConditionsOf(cmd, &q)
}

// exportedTable is an export of a table, in JSON.
type exportedTable struct {
	Format string                 `json:"format"`
	Files  []string               `json:"files"`
	Rules  []tuning.Rule          `json:"rules"`
	Losses []libraries.ExportLoss `json:"losses"`
	Gaps   []libraries.ExportGap  `json:"gaps"`
	Notes  []string               `json:"notes"`
	Load   []string               `json:"load"`
}

func tableExportDocument(f *tuning.Format, e *libraries.Export, notes []string, out string) *exportedTable {
	d := &exportedTable{Format: f.Name, Files: []string{}, Rules: e.Rules, Losses: append([]libraries.ExportLoss{}, e.Losses...), Gaps: append([]libraries.ExportGap{}, e.Gaps...), Notes: append(append([]string{}, e.Told...), notes...)}
	for _, file := range e.Files() {
		d.Files = append(d.Files, file.Name)
	}
	d.Load = []string{strings.ReplaceAll(f.Load, "<file>", safe.Shell(filepath.Join(out, d.Files[0])))}
	return d
}

// tell prints what the files do not say: the worst loss of each collective and number of
// ranks, what is left out, and notes.
func (d *exportedTable) tell(w io.Writer) {
	var lines []string
	for i := 0; i < len(d.Losses); {
		worst, n := d.Losses[i], 0
		for ; i < len(d.Losses) && d.Losses[i].Scope == worst.Scope; i++ {
			if n++; d.Losses[i].Ratio > worst.Ratio {
				worst = d.Losses[i]
			}
		}
		lines = append(lines, fmt.Sprintf("%s: at %s something is faster than what is exported: at %s [%s] takes %.1f us, and [%s] %.1f: %s",
			worst.Scope, units.Count(n, "size"), units.Bytes(worst.Bytes), worst.Best, worst.BestUS, worst.Exported, worst.ExportedUS, worst.Why))
	}
	for _, g := range d.Gaps {
		lines = append(lines, g.String())
	}
	for _, line := range append(lines, d.Notes...) {
		fmt.Fprintln(w, safe.Line(line))
	}
}

// tableExportSheet has a line for each range of sizes, and under -o table how to load the files.
func tableExportSheet(d *exportedTable) sheet {
	s := sheet{columns: []column{text("collective"), number("ranks"), number("nodes"), text("system"), number("min bytes"), number("max bytes"), text("library"), text("kernel"), text("protocol"), number("channels")}}
	count := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	for _, r := range d.Rules {
		s.add(r.Collective, strconv.Itoa(r.Ranks), count(r.Nodes), r.System, strconv.FormatInt(r.First, 10), strconv.FormatInt(r.Last, 10), r.Library, r.Kernel, r.Protocol, count(r.Channels))
	}
	s.below = append(append([]string{}, d.Files...), d.Load...)
	return s
}
