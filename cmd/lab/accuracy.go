package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/colltune/colltune/cmd/lab/accuracy"
	"github.com/colltune/colltune/internal/atomicfile"
	"github.com/colltune/colltune/results/intervals"
)

// Files, from the repository's root.
const (
	manifestFile  = "cmd/lab/accuracy/testdata/manifest.toml"
	rowsFile      = "cmd/lab/accuracy/testdata/measured.csv"
	zonesFile     = "results/intervals/zones.csv"
	simulatorPage = "docs/reference/simulator-errors.md"
)

// runAccuracy compares simulated times with measured ones.
func runAccuracy(ctx context.Context, args []string) error {
	var o accuracyOptions
	flags := flag.NewFlagSet("accuracy", flag.ExitOnError)
	flags.StringVar(&o.manifest, "manifest", manifestFile, "what the data sets are")
	flags.StringVar(&o.measured, "measured", "", "folder of whole data sets")
	flags.BoolVar(&o.shipped, "shipped", false, "hold rows to the shipped intervals, and not to those of the other machines")
	flags.BoolVar(&o.rows, "rows", false, "print every row, also those not used")
	flags.BoolVar(&o.update, "update", false, "write "+strings.Join([]string{rowsFile, zonesFile, simulatorPage}, ", "))
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	return o.run(ctx)
}

type accuracyOptions struct {
	manifest, measured    string
	shipped, rows, update bool
}

func (o *accuracyOptions) run(ctx context.Context) error {
	text, err := os.ReadFile(o.manifest)
	if err != nil {
		return err
	}
	m, err := accuracy.ParseManifest(o.manifest, string(text))
	if err != nil {
		return err
	}
	whole, kept, err := o.read(m)
	if err != nil {
		return err
	}
	compared, unused, err := accuracy.Compare(ctx, m, append(whole, kept...), runtime.NumCPU())
	if err != nil {
		return err
	}
	table, study := intervals.Shipped(), (*accuracy.Study)(nil)
	var verdicts []accuracy.Verdict
	if o.shipped {
		verdicts = accuracy.Judge(compared, table)
	} else {
		study = accuracy.NewStudy(compared)
		verdicts = study.LeaveOut()
	}
	if o.rows {
		for _, v := range verdicts {
			fmt.Printf("%s,%s,%d,%d,%s,%s,%d,%.6g,%.6g,%.3f,%s,%.3f,%.3f,%t,%t,%s,%s\n", v.Set, v.Collective, v.Nodes, v.GPUs, v.Algo, v.Proto, v.Bytes,
				v.TimeUS, v.SimulatedUS, v.TimeUS/v.SimulatedUS, strings.ReplaceAll(v.Name, ",", ";"), v.Interval.Low, v.Interval.High, v.Inside, v.InPlace, v.DType, v.Version)
		}
	}
	if o.rows {
		for _, u := range unused {
			fmt.Printf("not used: %s: %s\n", u.Row, u.Why)
		}
	}
	fmt.Print(accuracy.Sheet(verdicts, unused))
	fmt.Print(accuracy.LimitTables(m, compared))
	if o.update && study != nil {
		if table, err = updateAccuracy(m, study, compared); err != nil {
			return err
		}
	}
	if unheld := accuracy.Unheld(compared, table); len(unheld) > 0 && !o.shipped {
		return fmt.Errorf("%s holds too few rows: make accuracy UPDATE=1 writes it anew\n%s", zonesFile, strings.Join(unheld, "\n"))
	}
	return nil
}

// read returns the rows of data sets that the folder has, and the repository's of the
// others.
func (o *accuracyOptions) read(m *accuracy.Manifest) (whole, kept []accuracy.Row, err error) {
	there := map[string]bool{}
	for i := range m.Sets {
		if o.measured == "" {
			break
		}
		s := &m.Sets[i]
		name := filepath.Join(o.measured, s.Name+".csv")
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		rows, err := accuracy.ReadRows(name, f, s)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, nil, err
		}
		there[s.Name] = true
		whole = append(whole, rows...)
	}
	if o.shipped && len(whole) == 0 {
		return nil, nil, fmt.Errorf("%s has no file NAME.csv of a set of %s", o.measured, o.manifest)
	}
	text, err := os.ReadFile(rowsFile)
	if err != nil {
		return nil, nil, err
	}
	rows, err := accuracy.ReadRows(rowsFile, bytes.NewReader(text), &accuracy.Set{})
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rows {
		if !there[r.Set] && m.Set(r.Set) != nil {
			kept = append(kept, r)
		}
	}
	return whole, kept, nil
}

// updateAccuracy writes the rows that were compared, and what follows from them. It returns the
// intervals.
func updateAccuracy(m *accuracy.Manifest, study *accuracy.Study, compared []accuracy.Compared) (*intervals.Table, error) {
	table := study.Table()
	var rowsText, zonesText bytes.Buffer
	if err := errors.Join(accuracy.WriteRows(&rowsText, compared), table.Write(&zonesText)); err != nil {
		return nil, err
	}
	page, err := os.ReadFile(simulatorPage)
	if err != nil {
		return nil, err
	}
	before, rest, ok := strings.Cut(string(page), accuracy.PageBegin)
	_, after, ok2 := strings.Cut(rest, accuracy.PageEnd)
	if !ok || !ok2 {
		return nil, fmt.Errorf("%s: no part to write between %q and %q", simulatorPage, accuracy.PageBegin, accuracy.PageEnd)
	}
	text := before + accuracy.PageBegin + accuracy.Page(m, study) + accuracy.PageEnd + after
	for name, text := range map[string]string{rowsFile: rowsText.String(), zonesFile: zonesText.String(), simulatorPage: text} {
		if err := atomicfile.Write(name, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return table, nil
}
