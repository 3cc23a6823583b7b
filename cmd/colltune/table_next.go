package main

import (
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/search/libraries"
)

func tableNextCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "next TABLE -c COLLECTIVE --ranks N",
		Short: "Print the points worth measuring next",
		Long: `next prints which library to measure next at which size, by what that is expected to
gain. Candidates are the table's libraries under the conditions under which they were
measured; sizes are those of -b, -e and -f. Nothing is printed where less than 1% is
expected of any.

  colltune table next times.table -c allreduce --ranks 8 --dtype f32 -e 1M --points 3`,
		Args: exactArgs("the file TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := tableQuery(cmd)
			if err != nil {
				return err
			}
			sizes, err := sizesOf(cmd)
			if err != nil {
				return err
			}
			n, _ := cmd.Flags().GetInt("points")
			if n < 1 {
				return usagef("--points %d: want at least 1", n)
			}
			t, err := readTable(cmd, args[0])
			if err != nil {
				return err
			}
			curves, err := t.Curves(q)
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			points, err := curves.Next(sizes, n)
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			return printResult(cmd, "table-next", nextDocument(points), nextSheet(points))
		},
	}
	callFlags(cmd)
	sizeFlags(cmd)
	cmd.Flags().Int("points", 5, "how many points")
	outputFlags(cmd)
	return cmd
}

// nextRow is a point to measure, in JSON.
type nextRow struct {
	Collective string  `json:"collective"`
	Ranks      int     `json:"ranks"`
	Bytes      int64   `json:"bytes"`
	Library    string  `json:"library"`
	Version    string  `json:"version"`
	Kernel     string  `json:"kernel"`
	Mode       string  `json:"mode"`
	Placement  string  `json:"placement"`
	Again      bool    `json:"again"`
	Gain       float64 `json:"gain"`
}

func nextDocument(points []libraries.Point) any {
	rows := []nextRow{}
	for _, p := range points {
		rows = append(rows, nextRow{
			p.Collective, p.Ranks, p.Bytes, p.Library, p.Version, p.Conditions[measured.Kernel],
			p.Conditions[measured.Mode], p.Conditions[measured.Placement], p.Again, p.Gain,
		})
	}
	return struct {
		Rows []nextRow `json:"rows"`
	}{rows}
}

// nextSheet has a line for each point, and under -o table says so where there is none.
func nextSheet(points []libraries.Point) sheet {
	s := sheet{columns: []column{number("bytes"), text("library"), text("version"), text("kernel"), text("mode").OnceAbove(), text("placement").OnceAbove(), text("again"), number("gain %")}}
	for _, p := range points {
		again := "no"
		if p.Again {
			again = "yes"
		}
		s.add(strconv.FormatInt(p.Bytes, 10), p.Library, p.Version, p.Conditions[measured.Kernel], p.Conditions[measured.Mode], p.Conditions[measured.Placement], again, strconv.FormatFloat(100*p.Gain, 'f', 1, 64))
	}
	if len(points) == 0 {
		s.instead = func(w io.Writer, l look) error {
			return writeLines(w, l.width(), []string{"nothing: less than 1% is expected of any point"})
		}
	}
	return s
}
