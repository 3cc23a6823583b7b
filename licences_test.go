package colltune

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var updateLicences = flag.Bool("update-licences", false, "write LICENCES.md anew")

// licencesHead begins LICENCES.md.
const licencesHead = `# Licences of the modules in use

colltune is under [Apache-2.0](LICENSE). These are all modules that ` + "`go.mod`" + ` names, those for tests included. ` + "`go test . -run TestLicences -update-licences`" + ` writes this file; the same test fails where it is not up to date.

| module | version | licence |
|---|---|---|
`

// Every module that go.mod names is in LICENCES.md, with the licence that its own file
// says.
func TestLicences(t *testing.T) {
	const file = "LICENCES.md"
	have, err := os.ReadFile(file)
	if err != nil && !*updateLicences {
		t.Fatal(err)
	}
	listed := map[string]string{} // by module
	for line := range strings.Lines(string(have)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			listed[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[3])
		}
	}
	var want strings.Builder
	want.WriteString(licencesHead)
	for _, m := range modules(t) {
		licence := listed[m.Path]
		if m.Dir != "" { // else only another system needs it, and it is not on this machine
			licence = licenceIn(t, m.Dir)
		}
		if licence == "" {
			t.Errorf("%s: its licence is none that this test knows, or it is not on this machine: go mod download", m.Path)
		}
		fmt.Fprintf(&want, "| %s | %s | %s |\n", m.Path, m.Version, licence)
	}
	if *updateLicences {
		if err := os.WriteFile(file, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(have) != want.String() {
		t.Errorf("%s is not up to date: go test . -run TestLicences -update-licences\nwant:\n%s", file, want.String())
	}
}

type module struct {
	Path, Version, Dir string
}

// modules are those that go.mod names, in its order, wherever they are.
func modules(t *testing.T) (all []module) {
	t.Helper()
	text, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct{ Require []module }
	if err := json.Unmarshal(text, &mod); err != nil {
		t.Fatal(err)
	}
	args := []string{"-m", "-json"}
	for _, m := range mod.Require {
		args = append(args, m.Path)
	}
	for dec := json.NewDecoder(strings.NewReader(goList(t, args...))); ; {
		var m module
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
}

// licences are told by words that each has and those before it in this list have not.
var licences = []struct{ name, words string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License"},
	{"BSD-3-Clause", "Neither the name of"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"ISC", "Permission to use, copy, modify, and"},
}

// licenceIn names the licence in a module's folder; "" for none that is known.
func licenceIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := strings.ToUpper(e.Name()); e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		words := bytes.Join(bytes.Fields(text), []byte(" "))
		for _, l := range licences {
			if bytes.Contains(bytes.ToLower(words), bytes.ToLower([]byte(l.words))) {
				return l.name
			}
		}
	}
	return ""
}
