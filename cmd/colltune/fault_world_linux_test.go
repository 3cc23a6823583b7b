package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What the rounds of the fault campaign need: the results without faults, the folders
// that they begin with, files in them that colltune must leave alone, and processes.

// faultWorld is what all rounds share.
type faultWorld struct {
	top      string // a short path, because the paths of sockets are limited
	self     string // a colltune that any user can run
	user     *syscall.Credential
	canMount bool
	results  map[string]string // by resultName: without faults
	takes    map[string]time.Duration
}

// unprivileged is the user and group id of Linux's user nobody. It runs the commands
// if the test runs as root, to whom file permissions do not apply.
const unprivileged = 65534

func newFaultWorld(t *testing.T) *faultWorld {
	w := &faultWorld{results: map[string]string{}, takes: map[string]time.Duration{}}
	var err error
	if w.top, err = os.MkdirTemp("/tmp", "cf"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(w.top) })
	r := &round{T: t}
	r.check(os.Chmod(w.top, 0o755))
	if os.Geteuid() == 0 {
		w.user = &syscall.Credential{Uid: unprivileged, Gid: unprivileged}
	}
	self, err := os.Executable()
	r.check(err)
	w.self = filepath.Join(w.top, "colltune")
	text, err := os.ReadFile(self)
	r.check(err)
	r.check(os.WriteFile(w.self, text, 0o755))
	disk := filepath.Join(w.top, "disk")
	r.check(os.Mkdir(disk, 0o755))
	if syscall.Mount("none", disk, "tmpfs", 0, "size=64k") == nil {
		w.canMount = true
		r.check(syscall.Unmount(disk, 0))
	}

	for _, s := range scenes {
		w.stage(t, s)
	}
	return w
}

// stage makes a scene's folders to begin with, and its results without faults.
func (w *faultWorld) stage(t *testing.T, s *scene) {
	begin := func(state string) *round {
		r := &round{T: t, faultWorld: w, scene: s, from: "nothing", top: w.begun(s, state)}
		r.work = filepath.Join(r.top, "w")
		r.prepare()
		return r
	}
	r := begin("whole")
	for _, c := range s.commands {
		began := time.Now()
		got := r.start(c.args...).wait()
		w.takes[s.name+c.name] = time.Since(began)
		if got.code != 0 {
			t.Fatalf("%s: exit code %d\n%s", c.name, got.code, got.stderr)
		}
		if w.results[r.resultName(c)] = r.result(c, got); w.results[r.resultName(c)] == "" {
			t.Fatalf("%s has made nothing", c.name)
		}
	}
	if files := strings.Count(w.results[s.name+"'s out"], "\n/out/"); files < 1 {
		t.Fatalf("an export of %d more files", files)
	}
	r.intact()
	half := append(slices.Clone(s.search().args), "--trials", fmt.Sprint(s.trials))
	if got := begin("half").start(half...).wait(); got.code != exitDone {
		t.Fatalf("half a search: exit code %d\n%s", got.code, got.stderr)
	}
}

// begun is the folder of a scene's half or whole search.
func (w *faultWorld) begun(s *scene, state string) string {
	return filepath.Join(w.top, s.name+"-"+state)
}

func (r *round) check(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// path returns a path in the folder in which the commands run.
func (r *round) path(names ...string) string {
	return filepath.Join(append([]string{r.work}, names...)...)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// prepare makes the folders of a round, with its campaign and with files that colltune
// must leave alone.
func (r *round) prepare() {
	for _, dir := range []string{"", "w", "tmp", "home"} {
		r.makeDir(filepath.Join(r.top, dir))
	}
	if r.fault != nil && r.fault.disk {
		r.check(syscall.Mount("none", r.work, "tmpfs", 0, "size=64m,mode=755"))
		r.mounted = true
		r.give(r.work)
	}
	if r.from != "nothing" {
		r.check(os.CopyFS(r.path("c"), os.DirFS(filepath.Join(r.begun(r.scene, r.from), "w", "c"))))
		r.check(filepath.WalkDir(r.path("c"), func(path string, _ fs.DirEntry, err error) error {
			r.give(path)
			return err
		}))
	}
	r.check(os.WriteFile(r.path("step.toml"), []byte(theStep), 0o644))
	r.plant()
}

func (r *round) makeDir(path string) {
	r.check(os.MkdirAll(path, 0o755))
	r.give(path)
}

func (r *round) give(path string) {
	if r.user != nil {
		r.check(os.Lchown(path, unprivileged, unprivileged))
	}
}

// planted is a file of other people's, as it was put there.
type planted struct {
	text string
	mode fs.FileMode
	time time.Time
}

// foreign are the user's own files beside those that commands write.
var foreign = []string{
	"w/notes.txt", "w/.colltune-notes", "w/colltune.old/thesis.tex", "w/page.html.old", "w/.page.html1", "w/elsewhere.txt",
	"w/out/mine.xml", "w/out/nodes-4/mine.xml", "w/out/between/mine.txt", "w/times.table.old", "w/out/colltune-notes.xml", "w/out/colltune-allreduce-9r-in-01-1K-ring-LL.xml", "w/out/.mine", "w/out/kept/mine.xml",
	"tmp/colltune-2026/campaign.toml", "tmp/colltune-2026/trials.jsonl", "tmp/colltune-2026/lock", "tmp/colltune-8gpus/thesis.tex",
	"tmp/colltune-1234567890/mine", "tmp/colltune-1234567891/lock", "tmp/plugin1/mine", "tmp/mine",
	"home/.config/colltune/notes.txt", "home/.local/state/colltune/notes.txt",
}

// foreignInside are those in a campaign or a map that exists already.
var foreignInside = map[string][]string{
	"campaign": {"w/c/notes.txt", "w/c/.trials.jsonl1", "w/c/lock.mine", "w/c/candidates.old", "w/c/candidates/thesis.txt", "w/c/candidates/.mine", "w/c/programs/mine.json", "w/c/programs/.mine", "w/c/output/mine.txt"},
	"map": {"w/c/notes.txt", "w/c/map.toml.old", "w/c/.map.toml1", "w/c/nodes-3/thesis.tex", "w/c/nodes-8", "w/c/lock.mine",
		"w/c/nodes-2/notes.txt", "w/c/nodes-2/candidates/thesis.txt", "w/c/nodes-4/programs/mine.json", "w/c/nodes-1/output/mine.txt"},
}

func (r *round) plant() {
	r.planted = map[string]planted{}
	names := foreign
	if r.from != "nothing" {
		names = append(slices.Clone(names), foreignInside[r.scene.name]...)
	}
	for i, name := range names {
		path := filepath.Join(r.top, name)
		for dir := filepath.Dir(path); !exists(dir); dir = filepath.Dir(dir) {
			defer r.give(dir)
		}
		r.check(os.MkdirAll(filepath.Dir(path), 0o755))
		p := planted{fmt.Sprintf("line %d of a thesis\n", i), 0o640, time.Now().Add(-3 * time.Hour).Truncate(time.Second)}
		r.check(os.WriteFile(path, []byte(p.text), p.mode))
		r.check(os.Chmod(path, p.mode))
		r.give(path)
		r.check(os.Chtimes(path, p.time, p.time))
		r.check(os.Chtimes(filepath.Dir(path), p.time, p.time))
		r.planted[path] = p
	}
}

// intact wants other people's files to be as they were.
func (r *round) intact() {
	for _, path := range slices.Sorted(maps.Keys(r.planted)) {
		p := r.planted[path]
		info, err := os.Lstat(path)
		if err != nil {
			r.Errorf("a foreign file is gone: %v", err)
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil || string(text) != p.text || info.Mode() != p.mode || !info.ModTime().Equal(p.time) {
			r.Errorf("a foreign file was changed: %s: %q, %v, %v, %v", path, text, info.Mode(), info.ModTime(), err)
		}
	}
}

// nothingLeft wants no process and no socket of the round to be left: within two
// seconds, it is promised, and fifteen times that on a busy machine. The folder that
// a killed command had made for a socket may wait for the next one.
func (r *round) nothingLeft() {
	const turn = 20 * time.Millisecond
	for turns := 30 * time.Second / turn; ; turns-- {
		left := append(r.processes(), r.temporary(true)...)
		if len(left) == 0 {
			break
		}
		if turns == 0 {
			r.Errorf("left behind: %s", strings.Join(left, ", "))
			return
		}
		time.Sleep(turn)
	}
	if len(r.temporary(false)) > 0 && r.fault.kills {
		r.start("search", "-t", "ring:2", "-c", "allgather", "-b", "1K", "-e", "1K", "--family", "ring", "--campaign", "next").wait()
	}
	if left := r.temporary(false); len(left) > 0 {
		r.Errorf("left behind: %s", strings.Join(left, ", "))
	}
}

// processes lists the processes that run in the round's folder or have its home.
func (r *round) processes() (left []string) {
	entries, err := os.ReadDir("/proc")
	r.check(err)
	for _, e := range entries {
		dir := filepath.Join("/proc", e.Name())
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if strings.HasPrefix(cwd, r.top+"/") || bytes.Contains(env, []byte("="+r.top+"/")) {
			name, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			left = append(left, fmt.Sprintf("process %s (%s)", e.Name(), bytes.ReplaceAll(name, []byte{0}, []byte(" "))))
		}
	}
	return left
}

// temporary lists what the commands left in the folder of temporary files, or the
// sockets of it.
func (r *round) temporary(sockets bool) (left []string) {
	tmp := filepath.Join(r.top, "tmp")
	r.check(filepath.WalkDir(tmp, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		_, ours := r.planted[path]
		if !ours && (!sockets || d.Type() == fs.ModeSocket) && !slices.ContainsFunc(foreign, func(name string) bool {
			return strings.HasPrefix(filepath.Join(r.top, name), path+"/")
		}) {
			left = append(left, path)
		}
		return err
	}))
	return left
}

// clean removes the round's folder.
func (r *round) clean() {
	for _, p := range []*running{r.process, r.other} {
		if p != nil {
			p.end()
		}
	}
	if r.mounted {
		_ = syscall.Unmount(r.work, syscall.MNT_DETACH)
	}
	os.RemoveAll(r.top)
}

// running is a colltune that was started.
type running struct {
	pid            int
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan struct{}
	once           sync.Once
}

// commandEnd is how it ended.
type commandEnd struct {
	code           int
	killed         bool
	stdout, stderr string
}

func (r *round) start(args ...string) *running {
	p := &running{cmd: exec.Command(r.self), done: make(chan struct{})}
	p.cmd.Args = append([]string{"colltune"}, args...)
	p.cmd.Dir = r.work
	home := filepath.Join(r.top, "home")
	p.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + filepath.Join(r.top, "tmp"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "COLLTUNE_Z3=" + os.Getenv("COLLTUNE_Z3"),
	}
	p.cmd.WaitDelay = 10 * time.Second
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: r.user}
	r.check(p.cmd.Start())
	p.pid = p.cmd.Process.Pid
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	return p
}

// wait waits for its end, which may take very long on a busy machine.
func (p *running) wait() commandEnd {
	select {
	case <-p.done:
	case <-time.After(10 * time.Minute):
		p.end()
		return commandEnd{code: -1, stderr: "it did not end: " + p.stderr.String()}
	}
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return commandEnd{p.cmd.ProcessState.ExitCode(), status.Signaled(), p.stdout.String(), p.stderr.String()}
}

func (p *running) end() {
	p.once.Do(func() { _ = p.cmd.Process.Kill() })
	<-p.done
}

// await waits for the moment of the fault: any, from its start to a little after
// its end. A folder can only be lost once the command has it.
func (r *round) await() {
	if r.holdsFolder() {
		text := fmt.Sprintf("process %d on", r.process.pid)
		for {
			lock, _ := os.ReadFile(r.path("c", "lock"))
			if strings.HasPrefix(string(lock), text) || r.process.over() {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(time.Duration(r.rand.Float64() * r.rand.Float64() * 1.3 * float64(r.takes[r.scene.name+r.command.name]))) // early rather than late
}

// holdsFolder reports whether the fault is about a folder that the command locks.
func (r *round) holdsFolder() bool {
	lost := r.fault.gone || r.fault.name == "loses the folder to another place"
	return lost && strings.Contains(writers, r.command.name)
}

func (p *running) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// faultCounts counts rounds by fault, scene and outcome.
type faultCounts struct {
	sync.Mutex
	by map[string]map[string]int // by scene and fault; by outcome
}

func newFaultCounts() *faultCounts { return &faultCounts{by: map[string]map[string]int{}} }

func (c *faultCounts) add(fault, scene, outcome string) {
	c.Lock()
	defer c.Unlock()
	if c.by[fault] == nil {
		c.by[fault] = map[string]int{}
	}
	c.by[fault][scene+": "+outcome]++
}

// String is a Markdown table.
func (c *faultCounts) String() string {
	var b strings.Builder
	b.WriteString("| colltune … | and … |")
	for _, s := range scenes {
		fmt.Fprintf(&b, " %ss |", s.name)
	}
	b.WriteString("\n|---|---|--:|--:|\n")
	for _, f := range faults {
		outcomes := map[string]bool{}
		for key := range c.by[f.name] {
			_, outcome, _ := strings.Cut(key, ": ")
			outcomes[outcome] = true
		}
		for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
			fmt.Fprintf(&b, "| %s | %s |", f.name, outcome)
			for _, s := range scenes {
				fmt.Fprintf(&b, " %d |", c.by[f.name][s.name+": "+outcome])
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
