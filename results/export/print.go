package export

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/columns"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// Print writes the report as text that fits a terminal: what is gained, the files, and how to load
// them; what the files lose beside the winners in a line each number of nodes. The error is that of
// writing.
func (r Report) Print(w io.Writer) error {
	var lines []string
	if r.Summary != nil {
		lines = append(lines, r.Summary.brief())
	}
	if err := say(w, lines); err != nil {
		return err
	}
	if err := r.printFiles(w); err != nil {
		return err
	}
	lines = slices.Concat(r.briefLosses(), r.briefGaps())
	if n := len(lines); n > 0 {
		lines[n-1] += " (-v: each size)"
	}
	if err := say(w, append(lines, r.Notes...)); err != nil {
		return err
	}
	return SayLoad(w, r.briefLoad())
}

// say writes lines, folded.
func say(w io.Writer, lines []string) error {
	for _, line := range lines {
		for _, part := range columns.Fold(safe.Line(line), columns.Width, "  ") {
			if err := columns.PrintLine(w, part, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// SayLoad writes how to load files: commands of a shell so that they can be copied, and the rest as text.
func SayLoad(w io.Writer, lines []string) error {
	for _, line := range lines {
		if !strings.HasPrefix(line, "export ") {
			if err := say(w, []string{line}); err != nil {
				return err
			}
			continue
		}
		command, rest, _ := strings.Cut(line, "; ")
		for _, part := range columns.FoldShell(safe.Line(command), columns.Width) {
			if err := columns.PrintLine(w, part, false); err != nil {
				return err
			}
		}
		if rest != "" {
			if err := say(w, []string{rest}); err != nil {
				return err
			}
		}
	}
	return nil
}

// printFiles lists the files and the calls that they serve.
func (r Report) printFiles(w io.Writer) error {
	s := &columns.Sheet{Columns: []columns.Column{columns.Text("file"), columns.Text("serves bytes"), columns.Number("multiples"), columns.Text("placement")}}
	for _, f := range r.Files {
		if f.MaxBytes == 0 {
			s.Add(f.Name, "", "", "")
			continue
		}
		s.Add(f.Name, units.Bytes(f.MinBytes).String()+" to "+units.Bytes(f.MaxBytes).String(), strconv.FormatInt(f.Granularity, 10), results.PlacementText(f.Placement))
	}
	switch {
	case len(s.Rows) == 0:
		return nil
	case len(s.Rows) > mostListed:
		return say(w, []string{r.filesInShort()})
	}
	return s.Shown().Print(w, columns.Width)
}

// mostListed is how many files are listed; of more, what they serve together is said.
const mostListed = 3

// filesInShort says how many files there are, and which sizes they serve.
func (r Report) filesInShort() string {
	var spans []string
	least, most, place := int64(0), int64(0), ""
	end := func() {
		if most > 0 {
			spans = append(spans, strings.TrimSpace(units.Bytes(least).String()+" to "+units.Bytes(most).String()+" "+place))
		}
		most = 0
	}
	for _, f := range r.Files {
		now := onNodes(f.Nodes) + results.PlacementText(f.Placement)
		switch {
		case f.MaxBytes == 0:
			continue
		case most > 0 && now == place && f.MinBytes <= most+1 && f.MinBytes > least:
			most = max(most, f.MaxBytes)
			continue
		}
		end()
		least, most, place = f.MinBytes, f.MaxBytes, now
	}
	end()
	text := units.Count(len(r.Files), "file")
	if len(spans) > 0 {
		text += " for " + strings.Join(slices.Compact(spans), ", ")
	}
	return text
}

// briefLosses says at how many sizes the files are slower than the winners, by how much at most, and why.
func (r Report) briefLosses() (lines []string) {
	for _, nodes := range nodesOf(r.Losses, func(l Loss) int { return l.Nodes }) {
		n := 0
		var worst Loss
		for _, l := range r.Losses {
			if l.Nodes != nodes || l.Percent < 0.05 { // would be printed as 0.0 %; the JSON has it
				continue
			}
			if n++; l.Percent > worst.Percent {
				worst = l
			}
		}
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%sslower than the winner at %s, most at %s by %.1f %%, because %s", onNodes(nodes), units.Count(n, "size"), units.Bytes(worst.Bytes).String(), worst.Percent, worst.Why))
		}
	}
	return lines
}

// briefGaps says which sizes are left to the library, and which are not served, and why.
func (r Report) briefGaps() (lines []string) {
	for _, nodes := range nodesOf(r.Gaps, func(g Gap) int { return g.Nodes }) {
		var left []string
		var whys []string
		at := map[string][]string{}
		for _, g := range r.Gaps {
			size := units.Bytes(g.Bytes).String()
			switch {
			case g.Nodes != nodes:
			case g.Reason != Refused:
				left = append(left, size)
			default:
				if at[g.Why] == nil {
					whys = append(whys, g.Why)
				}
				at[g.Why] = append(at[g.Why], size)
			}
		}
		if left = slices.Compact(left); len(left) > 0 {
			lines = append(lines, fmt.Sprintf("%sleft to the library, which is as fast or faster: %s", onNodes(nodes), strings.Join(left, ", ")))
		}
		for _, why := range whys {
			lines = append(lines, fmt.Sprintf("%sat %s nothing is exported, and the runtime falls back to its own: %s", onNodes(nodes), strings.Join(slices.Compact(at[why]), ", "), why))
		}
	}
	return lines
}

// nodesOf are the numbers of nodes of a list, each once.
func nodesOf[T any](all []T, of func(T) int) []int {
	nodes := lists.Map(all, of)
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// briefLoad is how to load the files, with a pattern in place of a list of all files that it finds.
func (r Report) briefLoad() []string {
	return lists.Map(r.Load, func(line string) string {
		if r.list == "" || !strings.Contains(line, r.list) {
			return line
		}
		return strings.Replace(line, r.list, "$(ls "+r.pattern+" | paste -sd: -)", 1)
	})
}

// setList remembers the list of files in the line that loads them, and a pattern that finds these files
// in this order and no others.
func (r *Report) setList(files []string) {
	if len(files) < 2 {
		return
	}
	dir := filepath.Dir(files[0])
	names := lists.Map(files, filepath.Base)
	prefix := names[0]
	for _, name := range names {
		for !strings.HasPrefix(name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	prefix = prefix[:strings.LastIndex(prefix, "-")+1] // of letters, digits, - and _
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var found []string
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, prefix) && strings.HasSuffix(name, ".xml") {
			found = append(found, name)
		}
	}
	if slices.Equal(found, names) {
		r.list, r.pattern = safe.Shell(strings.Join(files, ":")), safe.Path(dir)+"/"+prefix+"*.xml"
	}
}

// PrintAll writes the report as text, a line for each size.
func (r Report) PrintAll(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Files {
		if f.MaxBytes == 0 {
			fmt.Fprintf(&b, "%s\n", f.Name)
			continue
		}
		fmt.Fprintf(&b, "%s: %s to %s bytes, multiples of %d, %s\n",
			f.Name, units.Bytes(f.MinBytes).String(), units.Bytes(f.MaxBytes).String(), f.Granularity, results.PlacementText(f.Placement))
	}
	for _, l := range r.Losses {
		if l.Percent < 0.05 {
			continue // would be printed as 0.0 %; the JSON has it
		}
		fmt.Fprintf(&b, "%sat %s [%s] takes %.1f %% longer than the winner [%s], because %s\n", onNodes(l.Nodes), units.Bytes(l.Bytes).String(), safe.Line(l.Exported), l.Percent, safe.Line(l.Winner), safe.Line(l.Why))
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(&b, "%sat %s nothing is exported, and the runtime falls back to its own: %s\n", onNodes(g.Nodes), units.Bytes(g.Bytes).String(), safe.Line(g.Why))
	}
	for _, n := range slices.Concat(r.Notes, r.Load) {
		fmt.Fprintln(&b, safe.Line(n))
	}
	if r.Summary != nil {
		fmt.Fprintln(&b, r.Summary)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
