package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/verify"
)

// folder is what holds of the files of a folder together.
type folder struct {
	Name     string           `json:"folder"`
	Findings []verify.Finding `json:"findings"`
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// readFolder reads the programs of a folder, by name, for one to judge, and
// tells where its algorithm files get in each other's way. What is no program
// is named, for runtimes that read every file; a folder without any is an error.
func readFolder(cmd *cobra.Command, dir string, one func(name string, f *programFile, err error)) (folder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return folder{}, usage(plain(err))
	}
	d := folder{Name: dir, Findings: []verify.Finding{}}
	var names, strangers []string
	var files []*msccl.File
	programs := 0
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := readProgram(cmd, path)
		if errors.Is(err, errFormat) || err != nil && filepath.Ext(path) != ".xml" && filepath.Ext(path) != ".json" {
			strangers = append(strangers, e.Name())
			continue
		}
		programs++
		one(path, f, err)
		if err == nil && f.xml != nil {
			names, files = append(names, e.Name()), append(files, f.xml)
		}
		if err == nil && f.xml == nil {
			strangers = append(strangers, e.Name())
		}
	}
	if programs == 0 {
		return d, usagef("%s: has no program: want IRs in JSON, MSCCL XML or MSCCL++ plans", dir)
	}
	if len(files) > 0 {
		d.Findings = append(d.Findings, msccl.LintFolder(names, files, strangers)...)
	}
	return d, nil
}
