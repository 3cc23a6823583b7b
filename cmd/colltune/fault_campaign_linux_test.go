package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A fault campaign: rounds of a small search, of one number of nodes or of a map, its
// resumption, or what is made from it, each of which meets one fault. After a round, whatever
// has happened, either everything is as if nothing had, or an error names the file or the folder.

// fault is a row of the table, to be read as a sentence: while colltune VICTIMS, it
// NAME; it may end with an error that SAYS.
type fault struct {
	name    string
	victims string         // which commands meet it, of search, resume, export, report, table, workload
	from    string         // in which campaigns: nothing, half or whole
	scene   string         // of which scene; "": of any
	before  func(r *round) // the fault, if it comes before the command
	during  func(r *round) // or at a random moment of it
	after   func(r *round) // undoes it, before the user tries again
	disk    bool           // the campaign is on a disk of its own
	kills   bool           // the signal may end the command
	gone    bool           // the campaign is no longer there
	lasting bool           // trying again may give the same error: a file is damaged
	says    string         // a pattern that every error of it has
	may     []int          // the exit codes of the command, besides 0
}

const (
	anywhere = "nothing half whole"
	writers  = "search resume"
	all      = "search resume export report table workload"
)

// somewhere is how an error names what it is about: the campaign's folder, one of
// its files, or the place that is written to.
const somewhere = `\bc\b|\bout\b|page\.html|times\.table|step\.json`

var faults = []fault{
	{name: "is left alone", victims: all, from: anywhere},
	{name: "is killed", victims: all, from: anywhere, during: func(r *round) { r.signal(syscall.SIGKILL) }, kills: true},
	{name: "is interrupted", victims: all, from: anywhere, during: func(r *round) { r.signal(syscall.SIGINT) }, kills: true, says: `.`, may: []int{130}},
	{name: "is stopped for a while", victims: all, from: anywhere, during: (*round).pause},
	{name: "fills the disk", victims: all, from: anywhere, disk: true, before: (*round).shrinkDisk, after: (*round).growDisk,
		says: `(` + somewhere + `).*no space left`, may: []int{1}},
	{name: "finds the folder read-only", victims: all, from: anywhere, during: (*round).forbidWriting, after: (*round).allowWriting,
		says: `(` + somewhere + `).*permission denied`, may: []int{1}},
	{name: "loses the folder to another place", victims: all, from: anywhere, during: (*round).moveAway, after: (*round).moveBack,
		says: somewhere, may: []int{1, 2}},
	{name: "loses the folder", victims: all, from: anywhere, during: (*round).remove, gone: true,
		says: somewhere, may: []int{1, 2}},
	{name: "meets a second process", victims: all, from: anywhere, before: (*round).second,
		says: `\b(c|nodes-3): in use by`, may: []int{1}},
	{name: "finds a flipped byte", victims: all, from: "half whole", before: (*round).flip, lasting: true,
		says: `trials\.jsonl:\d+|campaign\.toml|programs/|map\.toml`, may: []int{1, 2}},
	{name: "finds a doubled line", victims: all, from: "half whole", before: (*round).double, lasting: true,
		says: `trials\.jsonl:\d+`, may: []int{2}},
	{name: "finds a line missing", victims: all, from: "half whole", before: (*round).cutLine, lasting: true,
		says: `trials\.jsonl:\d+`, may: []int{2}},
	{name: "finds the last line torn", victims: writers, from: "half whole", before: (*round).tear},
	{name: "finds a campaign of the map missing", victims: "resume export report", from: "half whole", scene: "map", before: (*round).loseMember, lasting: true,
		says: `\bc: nodes-\d: missing, and the map is of 1,2,4 nodes`, may: []int{2}},
	{name: "finds a link in the place of one", victims: all, from: "half whole", scene: "map", before: (*round).linkMember, lasting: true,
		says: `\bc: nodes-\d is a link`, may: []int{2}},
	{name: "finds another's file in the place of one of its own", victims: "export", from: "whole", scene: "map", before: (*round).block, after: (*round).unblock,
		says: `\bout/.*: colltune did not write this`, may: []int{1}},
}

// command is what a round runs, and what of it must not change.
type command struct {
	name string
	from string
	args []string
	made string // the file or folder that it writes, whose content is the result; "": its output is
}

// scene is a search, with what is made from it.
type scene struct {
	name     string
	file     string // which the folder has once there is something
	trials   int    // of half a search
	disk     int64  // bytes, up to which the disk has room for a command
	commands []command
}

func (s *scene) search() command { return s.commands[0] }

// again are the commands of a user who tries again: resume, or else the search, and all that
// is made from it.
func (s *scene) again(there bool) []command {
	first := s.search()
	if there {
		first = s.commands[1]
	}
	return slices.Concat([]command{first, {"results", "", []string{"results", "c", "-o", "json"}, ""}}, s.commands[2:])
}

var scenes = []*scene{
	{"campaign", "campaign.toml", 8, 24 << 10, []command{
		{"search", anywhere, []string{"search", "-t", "fullmesh:4", "-c", "allreduce", "-b", "1K", "-e", "16K", "-f", "4", "--protocol", "LL", "--instances", "1",
			"--family", "ring,all-pairs,recursive-doubling", "--campaign", "c", "--jobs", "2", "-o", "json"}, ""},
		{"resume", "half whole", []string{"resume", "c", "-o", "json"}, ""},
		{"export", "whole", []string{"export", "c", "--to", "msccl-xml", "--out", "out"}, "out"},
		{"report", "whole", []string{"report", "c", "--out", "page.html"}, "page.html"},
		{"table", "whole", []string{"table", "build", "--library", "ours=c", "--out", "times.table"}, "times.table"},
		{"workload", "whole", []string{"workload", "step.toml", "--campaign", "ours=c", "--fallback", "none", "-o", "json", "--out", "step.json"}, "step.json"},
	}},
	{"map", "map.toml", 9, 128 << 10, []command{
		{"search", anywhere, []string{"search", "-t", "dgx-a100", "--gpus", "0,1,2", "--nodes", "1,2,4", "-c", "allgather", "-b", "1K", "-e", "4K", "-f", "4", "--protocol", "LL", "--instances", "1",
			"--family", "ring,all-pairs", "--campaign", "c", "--jobs", "2", "-o", "json"}, ""},
		{"resume", "half whole", []string{"resume", "c", "-o", "json"}, ""},
		{"export", "whole", []string{"export", "c", "--to", "dispatcher", "--jobs", "2", "--out", "out"}, "out"},
		{"report", "whole", []string{"report", "c", "--out", "page.html"}, "page.html"},
	}},
}

// theStep is the step of the command workload.
const theStep = `name = "step"
ranks = 4
dtype = "f32"

[[block]]
[[block.op]]
name = "average"
call = "allreduce"
bytes = "4K"
`

// TestFaultCampaign runs the rounds: one for each row of the table, and 500 drawn at
// random with COLLTUNE_LONG. COLLTUNE_FAULT_SEED=N repeats round N alone, or the
// COLLTUNE_FAULT_ROUNDS from there on.
func TestFaultCampaign(t *testing.T) {
	w := newFaultWorld(t)
	first, rounds := uint64(0), uint64(len(faults))
	if os.Getenv("COLLTUNE_LONG") != "" {
		first, rounds = uint64(time.Now().Unix())%1e6*1000, 500
	}
	if n, err := strconv.ParseUint(os.Getenv("COLLTUNE_FAULT_SEED"), 10, 64); err == nil {
		first, rounds = n, 1
	}
	if n, err := strconv.ParseUint(os.Getenv("COLLTUNE_FAULT_ROUNDS"), 10, 64); err == nil {
		rounds = n
	}
	w.fillDisks(t)
	counts := newFaultCounts()
	t.Run("rounds", func(t *testing.T) {
		for seed := first; seed < first+rounds; seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				r := w.newRound(t, seed)
				defer r.clean()
				counts.add(r.fault.name, r.scene.name, r.run())
			})
		}
	})
	t.Logf("rounds by fault and outcome, of %d:\n%s", rounds, counts)
}

// fillDisks runs the search of a map on disks of too little room: for its list, for some of its
// campaigns, for all but what is found out of the first. It is the fault that takes most
// moments to meet.
func (w *faultWorld) fillDisks(t *testing.T) {
	full := faults[slices.IndexFunc(faults, func(f fault) bool { return f.disk })]
	s := scenes[slices.IndexFunc(scenes, func(s *scene) bool { return s.name == "map" })]
	for _, room := range []int64{4, 40, 64, 80} {
		t.Run(fmt.Sprintf("a disk of %d KiB", room), func(t *testing.T) {
			f := full
			f.before = func(r *round) { r.leaveRoom(room << 10) }
			r := &round{T: t, faultWorld: w, rand: rand.New(rand.NewPCG(0, 0)), fault: &f, scene: s, command: s.search(), from: "nothing", top: filepath.Join(w.top, fmt.Sprint("disk", room))}
			r.work = filepath.Join(r.top, "w")
			defer r.clean()
			t.Log(r.run())
		})
	}
}

// round is one round. Everything random in it comes from its seed.
type round struct {
	*testing.T
	*faultWorld
	seed    uint64
	rand    *rand.Rand
	fault   *fault
	scene   *scene
	command command
	from    string // which campaign it begins with

	top     string // all of the round is in here
	work    string // where the commands run
	mounted bool
	process *running
	other   *running // of a second process
	planted map[string]planted
	moved   bool
	torn    bool   // something was really damaged
	blocked string // a file in the place of one of the export's
}

func (w *faultWorld) newRound(t *testing.T, seed uint64) *round {
	r := &round{T: t, faultWorld: w, seed: seed, rand: rand.New(rand.NewPCG(seed, 14))}
	r.fault = &faults[seed%uint64(len(faults))] // so that all come equally often
	for r.command.name == "" {
		r.scene = scenes[r.rand.IntN(len(scenes))]
		c := r.scene.commands[r.rand.IntN(len(r.scene.commands))]
		state := strings.Fields(c.from)[r.rand.IntN(len(strings.Fields(c.from)))]
		if strings.Contains(r.fault.victims, c.name) && strings.Contains(r.fault.from, state) && (r.fault.scene == "" || r.fault.scene == r.scene.name) {
			r.command, r.from = c, state
		}
	}
	r.top = filepath.Join(w.top, fmt.Sprint(seed%1e6))
	r.work = filepath.Join(r.top, "w")
	return r
}

// story is the round in a line, for people who repeat it.
func (r *round) story() string {
	return fmt.Sprintf("seed %d: %s of %s %s %s", r.seed, r.command.name, map[string]string{"nothing": "no", "half": "a half", "whole": "a whole"}[r.from], r.scene.name, r.fault.name)
}

// run runs the round, and returns a summary of its outcome.
func (r *round) run() (outcome string) {
	if r.fault.disk && !r.canMount {
		r.Skipf("%s: no file system can be mounted here", r.story())
	}
	defer func() {
		if r.Failed() {
			r.Logf("%s; repeat it with COLLTUNE_FAULT_SEED=%d", r.story(), r.seed)
		}
	}()
	r.prepare()
	if r.fault.before != nil {
		r.fault.before(r)
	}
	r.process = r.start(r.command.args...)
	if r.fault.during != nil {
		r.await()
		r.fault.during(r)
	}
	first := r.process.wait()
	if r.other != nil { // before it is judged what both have made
		r.judge(r.command, r.other.wait())
	}
	outcome = r.judge(r.command, first)
	if r.moved && exists(r.path("c")) {
		r.Errorf("a folder was made in the place of the one that was moved:\n%s", first.stderr)
	}
	if r.fault.gone && r.fault.during != nil && exists(r.path("c")) {
		r.Errorf("a folder was made in the place of the one that was removed:\n%s", first.stderr)
	}
	if r.fault.after != nil {
		r.fault.after(r)
	}
	ends := "then all is the same"
	for _, c := range r.scene.again(exists(r.path("c", r.scene.file))) {
		got := r.judgeAgain(c, r.start(c.args...).wait())
		if got != same {
			ends = "then " + got
		}
	}
	r.intact()
	r.nothingLeft()
	return outcome + ", " + ends
}

const same = "ends as ever"

// judge says how a command under the fault ended, and fails the test where it
// should not have ended so.
func (r *round) judge(c command, got commandEnd) string {
	switch {
	case got.killed && r.fault.kills:
		return "killed"
	case got.code == 0:
		return r.asEver(c, got)
	case !slices.Contains(r.fault.may, got.code) || !r.torn && r.fault.lasting:
		r.Errorf("%s: exit code %d\n%s", c.name, got.code, got.stderr)
	case !regexp.MustCompile(r.fault.says).MatchString(got.stderr):
		r.Errorf("%s: an error that does not say %s\n%s", c.name, r.fault.says, got.stderr)
	}
	return fmt.Sprintf("exit code %d that names it", got.code)
}

// judgeAgain does that for a command after the fault.
func (r *round) judgeAgain(c command, got commandEnd) string {
	if got.code != 0 && r.fault.lasting {
		return r.judge(c, got)
	}
	if got.code != 0 {
		r.Errorf("%s, once it is over: exit code %d\n%s", c.name, got.code, got.stderr)
	}
	return r.asEver(c, got)
}

// asEver wants a command to have given what it gives without faults.
func (r *round) asEver(c command, got commandEnd) string {
	have := r.result(c, got)
	if want := r.results[r.resultName(c)]; have != want {
		r.Errorf("%s: a silent difference:\n%s", c.name, difference(want, have))
	}
	return same
}

// result is what a command has given, without what differs from run to run.
func (r *round) result(c command, got commandEnd) string {
	if c.made == "" {
		return plainJSON(got.stdout)
	}
	var all strings.Builder
	_ = filepath.WalkDir(r.path(c.made), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "between" { // of short searches, whose journals have seconds
			return fs.SkipDir
		}
		if _, foreign := r.planted[path]; err == nil && !d.IsDir() && !foreign {
			text, _ := os.ReadFile(path)
			fmt.Fprintf(&all, "%s:\n%s\n", strings.TrimPrefix(path, r.work), text)
		}
		return err
	})
	return all.String()
}

var changing = regexp.MustCompile(`"(seconds|schema)": [^\n]*`)

func plainJSON(text string) string { return changing.ReplaceAllString(text, "") }

func (r *round) resultName(c command) string {
	if c.made == "" {
		return r.scene.name + "'s table"
	}
	return r.scene.name + "'s " + c.made
}

// difference shows the first lines that differ.
func difference(want, have string) string {
	a, b := strings.Split(want, "\n"), strings.Split(have, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			at := 0
			for at < min(len(a[i]), len(b[i])) && a[i][at] == b[i][at] {
				at++
			}
			at = max(0, at-40)
			return fmt.Sprintf("line %d, from byte %d: %.300s\nwant    %.300s", i+1, at, b[i][at:], a[i][at:])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(b), len(a))
}

// The faults.

func (r *round) signal(s syscall.Signal) { _ = syscall.Kill(r.process.pid, s) }

func (r *round) pause() {
	r.signal(syscall.SIGSTOP)
	time.Sleep(time.Duration(r.rand.IntN(200)) * time.Millisecond)
	r.signal(syscall.SIGCONT)
}

// shrinkDisk leaves the disk with less room than the command needs, most of the time.
func (r *round) shrinkDisk() { r.leaveRoom(r.rand.Int64N(r.scene.disk)) }

func (r *round) leaveRoom(bytes int64) {
	var s syscall.Statfs_t
	r.check(syscall.Statfs(r.work, &s))
	used := int64(s.Blocks-s.Bfree) * int64(s.Bsize)
	r.resize(used + bytes&^4095)
}

func (r *round) growDisk() { r.resize(64 << 20) }

func (r *round) resize(bytes int64) {
	r.check(syscall.Mount("", r.work, "", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", bytes)))
}

// forbidWriting takes the right to write from all folders; files that are open
// stay so.
func (r *round) forbidWriting() { r.setWriting(0o555) }
func (r *round) allowWriting()  { r.setWriting(0o755) }

func (r *round) setWriting(mode fs.FileMode) {
	r.check(filepath.WalkDir(r.work, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, mode)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}))
}

func (r *round) moveAway() { r.moved = os.Rename(r.path("c"), r.path("elsewhere")) == nil }

func (r *round) moveBack() {
	if r.moved {
		r.check(os.Rename(r.path("elsewhere"), r.path("c")))
	}
}

func (r *round) remove() {
	r.disown(r.path("c"))
	for os.RemoveAll(r.path("c")) != nil { // a file was made meanwhile
		time.Sleep(time.Millisecond)
	}
}

func (r *round) second() { r.other = r.start(r.command.args...) }

// flip changes a bit of a byte of one of the campaign's files, of the journal every
// other time.
func (r *round) flip() {
	var files []string
	r.check(filepath.WalkDir(r.path("c"), func(path string, d fs.DirEntry, err error) error {
		if _, foreign := r.planted[path]; err == nil && d.Type().IsRegular() && !foreign && d.Name() != "lock" {
			files = append(files, path)
		}
		return err
	}))
	path := files[r.rand.IntN(len(files))]
	if r.rand.IntN(2) == 0 {
		path = r.journal()
	}
	r.edit(path, func(text []byte) []byte {
		i := r.rand.IntN(len(text) - 1) // without its last line break a journal is torn
		text[i] ^= 1 << r.rand.IntN(8)
		r.Logf("byte %d of %s", i, path)
		return text
	})
}

func (r *round) double() {
	r.editJournal(func(lines [][]byte) [][]byte {
		i := r.rand.IntN(len(lines))
		return append(append(append([][]byte{}, lines[:i+1]...), lines[i]), lines[i+1:]...)
	})
}

// cutLine removes a line. Without its last line a journal is that of a search that
// ended earlier, so that one stays.
func (r *round) cutLine() {
	r.editJournal(func(lines [][]byte) [][]byte {
		i := r.rand.IntN(len(lines) - 1)
		return append(append([][]byte{}, lines[:i]...), lines[i+1:]...)
	})
}

// tear ends the journal in the middle of its last line.
func (r *round) tear() {
	r.editJournal(func(lines [][]byte) [][]byte {
		last := len(lines) - 1
		lines[last] = lines[last][:r.rand.IntN(len(lines[last]))]
		return lines
	})
}

func (r *round) editJournal(edit func(lines [][]byte) [][]byte) {
	r.edit(r.journal(), func(text []byte) []byte {
		lines := bytes.SplitAfter(text, []byte("\n"))
		return bytes.Join(edit(lines[:len(lines)-1]), nil) // after the last line break is nothing
	})
}

// journal is the campaign's, or that of one of the map's.
func (r *round) journal() string {
	if r.scene.name == "map" {
		return filepath.Join(r.member(), "trials.jsonl")
	}
	return r.path("c", "trials.jsonl")
}

// member is one of the map's campaigns.
func (r *round) member() string {
	return r.path("c", []string{"nodes-1", "nodes-2", "nodes-4"}[r.rand.IntN(3)])
}

// loseMember removes a campaign of the map, or its plan, or renames it.
func (r *round) loseMember() {
	r.torn = true
	dir := r.member()
	switch r.rand.IntN(3) {
	case 0:
		r.disown(dir)
		r.check(os.RemoveAll(dir))
	case 1:
		r.check(os.Remove(filepath.Join(dir, "campaign.toml")))
	case 2:
		r.disown(dir)
		r.check(os.Rename(dir, r.path("c", "nodes-04")))
	}
}

func (r *round) linkMember() {
	r.torn = true
	dir := r.member()
	r.disown(dir)
	r.check(os.Rename(dir, r.path("moved")))
	r.check(os.Symlink("../moved", dir))
}

// disown forgets other people's files in a folder that the fault takes away.
func (r *round) disown(dir string) {
	for path := range r.planted {
		if strings.HasPrefix(path, dir+"/") {
			delete(r.planted, path)
		}
	}
}

// block puts another's file where the export may write, and unblock wants nothing to be written.
func (r *round) block() {
	names := []string{"colltune-allgather-dgx-a100-dispatcher.json", "nodes-1/colltune-allgather-3r-out-ranges.json", "nodes-3/colltune-allgather-9r-out-ranges.json", "nodes-4/colltune-allgather-12r-out-ranges.json"}
	r.blocked = r.path("out", names[r.rand.IntN(len(names))])
	r.makeDir(filepath.Dir(r.blocked))
	r.check(os.WriteFile(r.blocked, []byte("mine"), 0o644))
}

func (r *round) unblock() {
	r.check(filepath.WalkDir(r.path("out"), func(path string, d fs.DirEntry, err error) error {
		if _, foreign := r.planted[path]; err == nil && !d.IsDir() && !foreign && path != r.blocked {
			r.Errorf("a refused export has written %s", path)
		}
		return err
	}))
	r.check(os.Remove(r.blocked))
}

func (r *round) edit(path string, edit func([]byte) []byte) {
	text, err := os.ReadFile(path)
	r.check(err)
	if strings.HasSuffix(path, "trials.jsonl") && !bytes.HasSuffix(text, []byte("\n")) {
		r.Fatal("the journal has no last line")
	}
	r.torn = true
	r.check(os.WriteFile(path, edit(text), 0o644))
}
