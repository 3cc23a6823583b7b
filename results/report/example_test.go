package report_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/colltune/colltune/results/report"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/results/table"
)

// The page is one file of HTML: it runs no script and loads nothing.
func ExampleWrite() {
	dir, err := os.MkdirTemp("", "campaign")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	c, err := resultstest.CreateIn(dir, resultstest.Plan(1024), // an allreduce over 4 ranks
		resultstest.NativeTrial("ring", "LL", nil, 8, 1024, 5))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	winners, err := table.Build(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	var page bytes.Buffer
	if err := report.Write(&page, c, winners, nil); err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"<title>allreduce on ring:4", "<svg", "<script", "src="} {
		fmt.Println(text, bytes.Contains(page.Bytes(), []byte(text)))
	}
	// Output:
	// <title>allreduce on ring:4 true
	// <svg true
	// <script false
	// src= false
}
