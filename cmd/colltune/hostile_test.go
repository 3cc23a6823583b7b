package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
)

// leads begin a cell that a spreadsheet would run, or hide that it does.
var leads = []string{"=", "+", "-", "@", "\t=", "\r=", "\u200b=", ""}

// hostile is a text that no output may hold as it is. n varies how it begins.
func hostile(n int) string {
	return leads[n%len(leads)] + "1+1\x1b[2J\u009b2J\x07\x7f\u202eevil\u2066\u200b\u2028\ufeff\U000e0041<img src=x onerror=alert(1)>|`x`[a](javascript:x)\"'\\--></title><!--"
}

// infest puts hostile texts into every string of a value, maps included, but for
// fields whose JSON names are kept: those that readers only take in one form.
func infest(v reflect.Value, keep ...string) {
	n := 0
	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(hostile(n))
			n++
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
				if v.Field(i).CanSet() && !slices.Contains(keep, name) && !slices.Contains(keep, v.Type().Field(i).Name) {
					walk(v.Field(i))
				}
			}
		case reflect.Map:
			if v.IsNil() || v.Type().Key().Kind() != reflect.String {
				return
			}
			value := reflect.New(v.Type().Elem()).Elem()
			for _, k := range v.MapKeys() {
				value.Set(v.MapIndex(k))
				v.SetMapIndex(k, reflect.Value{})
			}
			switch value.Kind() {
			case reflect.Interface:
				value.Set(reflect.ValueOf(hostile(n)))
			case reflect.String:
				value.SetString(hostile(n))
			}
			n++
			v.SetMapIndex(reflect.ValueOf(hostile(n)).Convert(v.Type().Key()), value)
		}
	}
	walk(v)
}

// harmless returns an error if an output has raw hidden characters, markup, a cell that
// a spreadsheet would run, or is a document that can't be read.
func harmless(kind, text string) error {
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			return fmt.Errorf("byte %d is no UTF-8: %.60q", i, text[i:])
		case safe.Hidden(r) && r != '\n' && r != '\t':
			return fmt.Errorf("hidden character at byte %d: %.60q", i, text[max(0, i-40):])
		}
	}
	switch kind {
	case "json":
		if !json.Valid([]byte(text)) {
			return fmt.Errorf("no JSON: %.200q", text)
		}
	case "csv":
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			return err
		}
		for _, c := range slices.Concat(rows...) {
			if _, err := strconv.ParseFloat(c, 64); err != nil && len(c) > 1 && strings.ContainsAny(c[:1], "=+-@\t\r") {
				return fmt.Errorf("a spreadsheet runs the cell %.60q", c)
			}
		}
	case "md", "html", "svg":
		if i := strings.Index(text, "<img"); i >= 0 {
			return fmt.Errorf("markup: %.60q", text[i:])
		}
		if kind == "md" && regexp.MustCompile("(^|[^\\\\])(`|\\[a\\]\\()").MatchString(text) {
			return fmt.Errorf("markup of Markdown: %.500s", text)
		}
	}
	return nil
}

// prints runs a command line, and checks with harmless everything that it prints or
// writes to --out. It returns the exit code and the streams.
func prints(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	kind, told := "table", make([]string, len(args))
	for i, a := range args {
		if i > 0 && args[i-1] == "-o" {
			kind = a
		}
		told[i] = safe.Shell(a)
	}
	command := "colltune " + strings.Join(told, " ")
	var out, err strings.Builder
	code = Main(args, strings.NewReader(""), &out, &err)
	if e := harmless(kind, out.String()); e != nil && out.Len() > 0 {
		t.Errorf("%s: standard output: %v", command, e)
	}
	if e := harmless("", err.String()); e != nil {
		t.Errorf("%s: standard error: %v", command, e)
	}
	if i := slices.Index(args, "--out"); i >= 0 && code == exitDone {
		if text, e := os.ReadFile(args[i+1]); e == nil {
			if e := harmless(kind, string(text)); e != nil {
				t.Errorf("%s: --out: %v", command, e)
			}
		}
	}
	return code, out.String(), err.String()
}

// must is prints of a command that has to be done.
func must(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := prints(t, args...)
	if code != exitDone {
		t.Fatalf("colltune %q: exit code %d, %s", args, code, stderr)
	}
	return stdout
}

// hostileCampaign makes a campaign of a real one, all of whose texts are hostile.
func hostileCampaign(t *testing.T, from, to string) {
	t.Helper()
	c, err := results.OpenReadOnly(from)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	plan := c.Plan()
	plan.Files = append(plan.Files, results.File{Kind: "baseline", Name: "x", Text: "x"})
	infest(reflect.ValueOf(&plan).Elem(), "Collective", "Op", "DType", "Placement", "Hash", "Text", "Kind")
	made, err := results.Create(to, plan)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	executor, _ := c.Executor()
	executor.Fingerprint, executor.OtherLinks = maps.Clone(executor.Fingerprint), true
	infest(reflect.ValueOf(&executor).Elem())
	if _, err := made.SetExecutor(executor); err != nil {
		t.Fatal(err)
	}
	called := map[string]results.ProgramLabel{}
	for i, trial := range c.Trials() {
		key := results.Key{Program: trial.Program, Bytes: trial.Bytes, DType: plan.DType, Op: plan.Op, Placement: trial.Placement, Protocol: trial.Protocol,
			TileBytes: trial.TileBytes, Iters: plan.Iters, Warmup: plan.Warmup, Seed: plan.Seed, Repeat: trial.Repeat, Fingerprint: trial.Fingerprint, Topology: plan.Topology.Hash}
		trial.Fingerprint = executor.Hash()
		key.Fingerprint = trial.Fingerprint
		p, err := c.Program(trial.Program)
		if err != nil {
			t.Fatal(err)
		}
		p.Name, p.Comment = hostile(i), hostile(i)
		if err := made.SaveProgram(trial.Program, p); err != nil {
			t.Fatal(err)
		}
		trial.Key = key.Hash()
		infest(reflect.ValueOf(&trial).Elem(), "key", "placement", "protocol", "ir", "fingerprint", "outcome", "data", "evidence")
		trial.Data = results.Unchecked
		trial.Algorithm = hostile(i) // each beginning once
		if i == 0 {
			trial.Outcome, trial.TimesUS = results.Failed, nil
		}
		if err := made.Append(trial); err != nil {
			t.Fatal(err)
		}
		called[trial.Program] = results.ProgramLabel{Algorithm: hostile(i + 1), Source: hostile(i)}
	}
	tally, _ := c.Tally()
	tally.Labels, tally.Refused = called, map[string]int{"": 1}
	infest(reflect.ValueOf(&tally).Elem(), "placement", "ir", "protocol", "called", "data", "registered", "evidence")
	if err := made.SetTally(tally); err != nil {
		t.Fatal(err)
	}
}

// Hostile texts in a plan and a journal are harmless in all output of a campaign.
func TestHostileCampaign(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	must(t, "search", "-t", "ring:4", "-c", "allreduce", "-b", "1K", "-e", "64K", "--family", "ring,all-pairs", "--campaign", good)
	hostileCampaign(t, good, bad)
	for _, format := range formats {
		table := must(t, "results", bad, "-o", format)
		if !strings.Contains(table, "evil") {
			t.Errorf("results -o %s shows nothing of the texts:\n%s", format, table)
		}
		must(t, "results", bad, "-o", format, "--out", filepath.Join(dir, "table"))
		prints(t, "compare", good, bad, "-o", format)
		prints(t, "resume", bad, "-o", format)
		for _, to := range export.Formats() {
			prints(t, "export", bad, "--to", to, "--out", filepath.Join(dir, "x", to, "-\x1b[2J\u202e \n'"), "-o", format)
		}
	}
	if table := must(t, "results", bad, "-o", "json"); !strings.Contains(table, `\u202e`) {
		t.Errorf("results -o json has lost characters:\n%s", table)
	}
	checkFile(t, filepath.Join(bad, "campaign.toml"))
	checkFile(t, filepath.Join(bad, "trials.jsonl"))
	page := filepath.Join(dir, "page.html")
	must(t, "report", bad, "--out", page)
	checkFile(t, page)
	written := 0
	err := filepath.WalkDir(filepath.Join(dir, "x"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			written++
			checkFile(t, path)
			prints(t, "verify", path)
			prints(t, "verify", path, "-o", "json")
		}
		return err
	})
	if err != nil || written < 9 {
		t.Errorf("%d files of exports, %v", written, err)
	}
}

func checkFile(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kind := strings.TrimPrefix(filepath.Ext(path), ".")
	if kind == "csv" || kind == "conf" {
		kind = "" // with comments, for a reader that is no spreadsheet
	}
	if err := harmless(kind, string(text)); err != nil {
		t.Errorf("%s: %v", filepath.Base(path), err)
	}
}

// Hostile texts in users' files are harmless in the output of the commands that read
// them.
func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	file := func(name, text string, mode os.FileMode) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	q := func(n int) string { text, _ := json.Marshal(hostile(n)); return string(safe.JSON(text)) }
	toml := safe.TOML

	system, err := os.ReadFile("../../topologies/draw/testdata/mixed.toml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	topology := file("t.toml", strings.NewReplacer(`"made up"`, toml(hostile(0)), `"hub"`, toml(hostile(1)[:60]), `"ib"`, toml(hostile(2)[:40])).Replace(string(system)), 0o644)
	star := func(name string) string {
		return fmt.Sprintf("%s\nprint(%s)\nfamily(name = %s, collectives = [\"sendrecv\"], where = %s, params = [param(\"x\", values = [%s], doc = %s)])\n"+
			"def program(topo, p):\n    print(%s)\n    for r in range(topo.ranks):\n        chunk(r, \"in\", 0).copy((r + 1) %% topo.ranks, \"out\", 0)\n",
			q(0), q(1), name, q(2), q(3), q(4), q(5))
	}
	template := file("evil.star", star(`"evil"`), 0o644)
	named := file("named.star", star(q(0)), 0o644)
	failing := file("failing.star", "fail("+q(0)+")\n", 0o644)
	broken := file("broken.star", "family(name = \""+hostile(7)+"\n", 0o644)
	unknown := file("unknown.toml", toml(hostile(0))+" = "+toml(hostile(1))+"\n", 0o644)
	brokenTOML := file("broken.toml", "name = \""+hostile(7)+"\n", 0o644)
	ir := file("x.json", `{"schema":"colltune.ir/v1","name":`+q(0)+`,"comment":`+q(1)+`,"collective":{"name":`+q(2)+`,"ranks":2,"chunks":1},"gpus":[]}`, 0o644)
	xml := file("x.xml", "<!--\x1b\u202e--><algo name=\""+strings.NewReplacer("\"", "", "<", "", ">", "").Replace(hostile(0))+"\" proto=\"\x1b[2J\u202e\" coll=\"\u202e\"></algo>", 0o644)
	plan := file("x.plan.json", `{"name":`+q(0)+`,"collective":`+q(1)+`,"protocol":`+q(2)+`}`, 0o644)
	measured := file("evil\x1b[2J\u202e=.txt", hostile(0)+"\n# nThread 1\n  1024 256 float sum -1 "+hostile(7)+"\n", 0o644)
	file("colltune-executor-=evil\x1b[2J\u202e|<img src=x>", "#!/bin/sh\nprintf '\\033[2J\\342\\200\\256 evil\\n' >&2\nexit 1\n", 0o755)
	plugin := file("colltune-executor-dies", "#!/bin/sh\nprintf '\\033[2J\\342\\200\\256 evil\\n' >&2\nprintf '\\033[2J|\\342\\200\\256\\n'\nexit 1\n", 0o755)

	for _, format := range append(slices.Clone(formats), "svg") {
		if slices.Contains(formats, format) {
			must(t, "topology", "check", topology, "-o", format)
			for _, f := range []string{template, named} {
				prints(t, "template", "list", "--template", f, "-o", format)
				prints(t, "template", "show", "evil", "--template", f, "-t", "ring:4", "-o", format)
				prints(t, "template", "show", hostile(0), "--template", f, "-t", "ring:4", "-o", format)
				prints(t, "template", "check", f, "-t", "ring:4", "-o", format)
			}
			for _, f := range []string{ir, xml, plan, topology, measured} {
				prints(t, "verify", f, "-o", format)
				prints(t, "run", f, "-o", format)
			}
			prints(t, "topology", "bounds", topology, "-c", "allgather", "-o", format)
			prints(t, "executor", "list", "--plugin-dir", dir, "-o", format)
			prints(t, "executor", "check", plugin, "-o", format)
			prints(t, "executor", "check", "=evil\x1b[2J\u202e|<img src=x>", "--plugin-dir", dir, "-o", format)
			prints(t, "doctor", "-o", format)
		}
		must(t, "topology", "show", topology, "-o", format)
		must(t, "topology", "show", topology, "-o", format, "--out", filepath.Join(dir, "shown"))
	}
	if out := must(t, "topology", "show", topology); !strings.Contains(out, `\u001b`) {
		t.Errorf("topology show:\n%s", out)
	}
	for _, f := range []string{template, named, failing, broken} {
		for _, more := range [][]string{nil, {"--to", "msccl-xml"}, {"--to", "mscclpp-json"}, {"--dump-after", "all"}} {
			prints(t, append([]string{"compile", f, "-t", "ring:4"}, more...)...)
		}
		prints(t, "template", "check", f)
		prints(t, "search", "-v", "-t", "ring:4", "-c", "sendrecv", "-b", "1K", "-e", "2K", "--template", f, "--campaign", filepath.Join(dir, "c-"+filepath.Base(f)))
	}
	for _, f := range []string{unknown, brokenTOML, ir, measured} {
		prints(t, "topology", "show", f)
		prints(t, "topology", "check", f)
		prints(t, "topology", "import", f)
		prints(t, "search", "-t", "ring:4", "-c", "allreduce", "-b", "1K", "-e", "2K", "--baseline", f, "--campaign", filepath.Join(dir, "d"))
		prints(t, "topology", "calibrate", "ring:4", "-c", "allreduce", "--measured", f)
	}
	for _, campaign := range []string{"-odd", "it's a\nfolder", "\x1b[2J\u202e"} {
		code, _, stderr := prints(t, "search", "-t", "ring:4", "-c", "allreduce", "-b", "1K", "-e", "4K", "--trials", "1", "--campaign", campaign)
		if want := "colltune resume " + safe.Path(campaign); code != exitDone || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, no %q in %s", code, want, stderr)
		}
	}
	evil := hostile(0)
	for _, args := range [][]string{
		{evil}, {"--" + evil}, {"help", evil}, {"search", "-t", evil, "-c", "allreduce"}, {"search", "-t", "ring:4", "-c", evil},
		{"results", evil}, {"export", evil, "--to", evil}, {"verify", evil}, {"run", evil}, {"compile", evil, "-t", "ring:4"},
		{"search", "-t", "ring:4", "-c", "allreduce", "-p", evil}, {"search", "-t", "ring:4", "-c", "allreduce", "--executor", evil},
		{"__complete", "search", "--plugin-dir", dir, "--executor", ""}, {"__complete", "executor", "check", "--plugin-dir", dir, ""},
	} {
		prints(t, args...)
	}
	if err := os.WriteFile("colltune.toml", []byte(toml(evil)+" = "+toml(evil)+"\n[executor."+toml(evil)+"]\ncommand = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	prints(t, "topology", "show", "ring:4")
	t.Setenv("COLLTUNE_\x1b\u202e", evil[:6])
	prints(t, "version")
}
