package report_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/colltune/colltune/results"
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
	plan := resultstest.Plan(1024) // an allreduce over 4 ranks
	c, err := results.Create(dir, plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if _, err := c.SetExecutor(resultstest.Executor); err != nil {
		fmt.Println(err)
		return
	}
	t := resultstest.NativeTrial("ring", "LL", nil, 8, 1024, 5)
	t.Key = plan.Key(&t).Hash()
	if err := c.Append(t); err != nil {
		fmt.Println(err)
		return
	}
	winners, err := table.Build(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	var page bytes.Buffer
	if err := report.Write(&page, c, winners); err != nil {
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
