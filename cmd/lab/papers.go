package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/colltune/colltune/cmd/lab/accuracy"
	"github.com/colltune/colltune/cmd/lab/papers"
	"github.com/colltune/colltune/internal/atomicfile"
)

// papersPage is written by papers, from the repository's root.
const papersPage = "cmd/lab/papers.md"

// runPapers judges what the papers claim, against the page or to write it.
func runPapers(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("papers", flag.ExitOnError)
	update := flags.Bool("update", false, "write "+papersPage)
	only := flags.String("only", "", "judge the claims whose names begin so, and leave the page alone")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	return judgePapers(ctx, *only, *update)
}

func judgePapers(ctx context.Context, only string, update bool) error {
	old, err := os.ReadFile(papersPage)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	recorded, err := papers.Recorded(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", papersPage, err)
	}
	lab := papers.NewLab(ctx)
	if only != "" {
		return judgeSome(lab, only, recorded)
	}
	compared, err := libraryRows(ctx)
	if err != nil {
		return err
	}
	r, err := papers.Run(lab, compared, runtime.NumCPU())
	if err != nil {
		return err
	}
	page := papers.Page(&r)
	if update {
		if err := atomicfile.Write(papersPage, []byte(page), 0o644); err != nil {
			return err
		}
	} else if page != string(old) {
		fmt.Println(papersPage + " has other figures: make papers UPDATE=1 writes them")
	}
	return compareVerdicts(recorded, r.Judged, update)
}

// libraryRows simulates the rows of the vendor's library that were measured on PCCL's systems.
func libraryRows(ctx context.Context) ([]accuracy.Compared, error) {
	text, err := os.ReadFile(manifestFile)
	if err != nil {
		return nil, err
	}
	m, err := accuracy.ParseManifest(manifestFile, string(text))
	if err != nil {
		return nil, err
	}
	f, err := os.Open(rowsFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := accuracy.ReadRows(rowsFile, f, &accuracy.Set{})
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r accuracy.Row) bool {
		s := m.Set(r.Set)
		return s == nil || s.Topology != "frontier" && s.Topology != "perlmutter"
	})
	compared, _, err := accuracy.Compare(ctx, m, rows, runtime.NumCPU())
	return compared, err
}

// judgeSome judges the claims whose names begin so.
func judgeSome(lab *papers.Lab, prefix string, recorded map[string]papers.Verdict) error {
	var claims []papers.Claim
	for _, c := range papers.Claims() {
		if strings.HasPrefix(c.ID, prefix) {
			claims = append(claims, c)
		}
	}
	if len(claims) == 0 {
		return fmt.Errorf("no claim's name begins with %q", prefix)
	}
	judged, err := papers.Judge(lab, claims, runtime.NumCPU())
	if err != nil {
		return err
	}
	for _, j := range judged {
		fmt.Printf("%-24s %-18s published %s: %s\n", j.ID, j.Verdict, j.Published.Text, j.Found.Text)
		if j.Evidence != nil {
			fmt.Printf("%-24s %s\n", "", j.Evidence.How())
		}
	}
	for id := range recorded {
		if !strings.HasPrefix(id, prefix) {
			delete(recorded, id)
		}
	}
	return compareVerdicts(recorded, judged, false)
}

// compareVerdicts prints the verdicts that changed. Those that were lost are an error, unless they
// are recorded.
func compareVerdicts(recorded map[string]papers.Verdict, judged []papers.Judged, update bool) error {
	var lost []string
	for _, c := range papers.Changes(recorded, judged) {
		fmt.Println(c)
		if c.Lost() {
			lost = append(lost, c.ID)
		}
	}
	if len(lost) > 0 && !update {
		return fmt.Errorf("verdicts that held before are worse now: %s (make papers UPDATE=1 records them)", strings.Join(lost, ", "))
	}
	return nil
}
