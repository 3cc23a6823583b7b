package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/programs"
	"github.com/colltune/colltune/compiler/verify"
)

// folderResult is the findings on a folder's files taken together, in JSON.
type folderResult struct {
	Name     string           `json:"folder"`
	Findings []verify.Finding `json:"findings"`
}

// readFolder calls check with each program of a folder, by name, and returns findings on
// programs that serve the same calls. The findings name other files too, because some
// runtimes read every file. A folder without a program is an error.
func readFolder(cmd *cobra.Command, dir string, check func(name string, f *programFile, err error)) (folderResult, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return folderResult{}, usage(withoutOp(err))
	}
	d := folderResult{Name: dir, Findings: []verify.Finding{}}
	var names, others []string
	var files []*msccl.File
	found := 0
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := readProgram(cmd, path)
		if errors.Is(err, programs.ErrForm) || err != nil && filepath.Ext(path) != ".xml" && filepath.Ext(path) != ".json" {
			others = append(others, e.Name())
			continue
		}
		found++
		check(path, f, err)
		if err == nil && f.XML != nil {
			names, files = append(names, e.Name()), append(files, f.XML)
		}
		if err == nil && f.XML == nil {
			others = append(others, e.Name())
		}
	}
	if found == 0 {
		return d, usagef("%s: no programs: want IRs in JSON, MSCCL XML or MSCCL++ plans", dir)
	}
	if len(files) > 0 {
		d.Findings = append(d.Findings, msccl.LintFolder(names, files, others)...)
	}
	return d, nil
}
