package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hosts are machines made of this one: a Slurm of one node, and two network
// namespaces with an sshd each. What they run is below a folder of theirs, and
// known by it.
type hosts struct {
	t        *testing.T
	dir      string
	colltune string
	env      []string
	net      int // of 198.18.net.0/24, and in the names of what is made for it
	daemons  []int
}

// mark is the variable by which processes are known as ours.
const mark = "COLLTUNE_TEST_HOSTS"

func newHosts(t *testing.T) *hosts {
	// Not t.TempDir: sockets have short names.
	dir, err := os.MkdirTemp("", "cth")
	if err != nil {
		t.Fatal(err)
	}
	h := &hosts{t: t, dir: dir, colltune: filepath.Join(dir, "colltune"), net: os.Getpid() % 250}
	h.env = append(os.Environ(), mark+"="+dir, "SLURM_CONF="+dir+"/slurm.conf")
	t.Cleanup(func() {
		h.end()
		_ = os.RemoveAll(dir)
	})
	if err := os.Chmod(dir, 0o755); err != nil { // munged wants to be reached
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", h.colltune, ".")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return h
}

// slurm starts a munged, a slurmctld and a slurmd of its own, on free ports.
func (h *hosts) slurm(t *testing.T) {
	h.needs(t, "munged", "slurmctld", "slurmd", "srun")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	h.write("munge.key", strings.Repeat("colltune's tests ", 64))
	ports := freePorts(t, 2)
	h.write("slurm.conf", fmt.Sprintf(`ClusterName=colltune
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge.socket
CredType=cred/none
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SwitchType=switch/none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`, host, h.dir, ports[0], ports[1]))
	for _, folder := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(h.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(h.dir, name) }
	h.daemon(t, "munged", "--foreground", "--force", "--key-file="+in("munge.key"), "--socket="+in("munge.socket"),
		"--pid-file="+in("munged.pid"), "--log-file="+in("munged.log"), "--seed-file="+in("munged.seed"))
	h.daemon(t, "slurmctld", "-D", "-f", in("slurm.conf"))
	h.daemon(t, "slurmd", "-D", "-f", in("slurm.conf"), "-N", host)
	h.until(t, "its node is idle", func() bool { return strings.Contains(h.run("sinfo", "-h", "-o", "%T"), "idle") })
}

// network makes two namespaces, joined to each other and to this machine by a
// bridge, with an sshd each. It returns the path of ssh's configuration file.
func (h *hosts) network(t *testing.T) string {
	h.needs(t, "ip", "unshare", "sshd", "ssh", "ssh-keygen")
	if said := h.run("ip", "link", "add", h.link(0), "type", "bridge"); said != "" {
		t.Skipf("no bridge can be made here: %s", said)
	}
	h.run("ip", "address", "add", h.address(0)+"/24", "dev", h.link(0))
	h.run("ip", "link", "set", h.link(0), "up")
	key := filepath.Join(h.dir, "key")
	h.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	_ = os.MkdirAll("/run/sshd", 0o755) // sshd's own, as its package makes it
	sshd := h.write("sshd.conf", fmt.Sprintf("Port 22\nHostKey %[1]s\nAuthorizedKeysFile %[1]s.pub\nPermitRootLogin yes\nStrictModes no\nUsePAM no\nPidFile none\nSetEnv %[2]s=%[3]s\n", key, mark, h.dir))
	path, err := exec.LookPath("sshd") // by its whole path, to start itself anew
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 2; i++ {
		inside, space := h.link(i)+"in", h.space(i)
		h.run("ip", "netns", "add", space)
		h.run("ip", "link", "add", h.link(i), "type", "veth", "peer", "name", inside, "netns", space)
		h.run("ip", "link", "set", h.link(i), "master", h.link(0), "up")
		for _, line := range []string{"address add " + h.address(i) + "/24 dev " + inside, "link set " + inside + " up", "link set lo up"} {
			h.run("ip", append([]string{"-n", space}, strings.Fields(line)...)...)
		}
		h.daemon(t, "ip", "netns", "exec", space, "unshare", "--uts", "sh", "-c", `hostname "$1"; exec "$2" -D -e -f "$3"`, "host", space, path, sshd)
	}
	config := h.write("ssh.conf", fmt.Sprintf("Host *\n  IdentityFile %s\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n  ServerAliveInterval 15\n", key))
	for i := 1; i <= 2; i++ {
		h.until(t, h.space(i)+" lets us in", func() bool {
			return strings.TrimSpace(h.run("ssh", "-F", config, h.address(i), "hostname")) == h.space(i)
		})
	}
	return config
}

func (h *hosts) address(i int) string { return fmt.Sprintf("198.18.%d.%d", h.net, i+1) }
func (h *hosts) link(i int) string    { return fmt.Sprintf("cth%dx%d", h.net, i) }
func (h *hosts) space(i int) string   { return h.link(i) }

// needs skips a test where a command is missing.
func (h *hosts) needs(t *testing.T, commands ...string) {
	for _, c := range commands {
		if _, err := exec.LookPath(c); err != nil {
			t.Skip(err)
		}
	}
}

// command is one of ours, in our folder.
func (h *hosts) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	return cmd
}

// run runs a command to its end and returns its output.
func (h *hosts) run(name string, args ...string) string {
	said, _ := h.command(name, args...).CombinedOutput()
	return string(said)
}

// daemon starts a command that is to run as long as the test, and not longer
// than this process, whatever becomes of that.
func (h *hosts) daemon(t *testing.T, name string, args ...string) {
	runtime.LockOSThread() // the thread whose end the daemon is to follow
	cmd := h.command(name, args...)
	log, err := os.Create(filepath.Join(h.dir, fmt.Sprintf("%s.%d.said", name, len(h.daemons))))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	h.daemons = append(h.daemons, cmd.Process.Pid)
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("%s:\n%.4000s", name, said)
		}
		h.killTree(cmd.Process.Pid)
		_ = cmd.Wait()
	})
}

// abandonable waits until something holds, as long as a busy machine may take.
func (h *hosts) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 600 {
		if holds() {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("%s: not within two minutes", what)
}

// write writes a file that only this user can read, and returns its path.
func (h *hosts) write(name, text string) string {
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// freePorts returns n TCP ports that no process listens on.
func freePorts(t *testing.T, n int) (ports []int) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// process is one that runs.
type process struct {
	pid, parent int
	command     string
	ours        bool
}

func (p process) String() string { return fmt.Sprintf("%d %.120s", p.pid, p.command) }

// table is every process, those of ours marked: by their environment or folder,
// which they inherit, or by a parent that is.
func (h *hosts) table() []process {
	var all []process
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		p := process{pid: pid}
		stat, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if _, rest, ok := strings.Cut(string(stat), ") "); ok {
			fields := strings.Fields(rest)
			if fields[0] == "Z" {
				continue
			}
			p.parent, _ = strconv.Atoi(fields[1])
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		environment, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		p.command = strings.ReplaceAll(string(line), "\x00", " ")
		folder, _ := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		p.ours = strings.Contains(string(environment), mark+"="+h.dir) || strings.HasPrefix(folder, h.dir) || slices.Contains(h.daemons, pid)
		all = append(all, p)
	}
	for changed := true; changed; {
		changed = false
		for i := range all {
			parent := slices.IndexFunc(all, func(p process) bool { return p.pid == all[i].parent })
			if !all[i].ours && parent >= 0 && all[parent].ours {
				all[i].ours, changed = true, true
			}
		}
	}
	return all
}

// processes are those of ours whose command lines have a word, in the order of
// their numbers.
func (h *hosts) processes(word string) (some []process) {
	for _, p := range h.table() {
		if p.ours && strings.Contains(p.command, word) {
			some = append(some, p)
		}
	}
	slices.SortFunc(some, func(a, b process) int { return a.pid - b.pid })
	return some
}

// killTree kills a process and all that it has started.
func (h *hosts) killTree(pid int) {
	for _, p := range h.table() {
		if p.parent == pid {
			h.killTree(p.pid)
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// end ends all that is left, whatever the test came to.
func (h *hosts) end() {
	for _, p := range h.processes("") {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	for i := range 3 {
		h.run("ip", "netns", "delete", h.space(i))
		h.run("ip", "link", "delete", h.link(i))
	}
}
