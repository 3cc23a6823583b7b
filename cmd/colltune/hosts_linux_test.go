package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHosts searches through real launchers, on hosts of its own making, and
// breaks things meanwhile. It is slow, needs root and daemons, and is asked for
// with COLLTUNE_HOSTS=1 (make test-hosts).
func TestHosts(t *testing.T) {
	if os.Getenv("COLLTUNE_HOSTS") == "" {
		t.Skip("COLLTUNE_HOSTS=1 asks for it: it starts Slurm, sshd and network namespaces, as root")
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces and daemons need root")
	}
	h := newHosts(t)
	t.Run("slurm", func(t *testing.T) {
		h.slurm(t)
		h.campaigns(t, map[string][]string{
			"job": {"srun", "-u", "-n", "1"},
		}, []mishap{
			{"nothing", nil},
			{"the job is cancelled", func(h *hosts) { h.run("scancel", "-u", "root") }},
			{"the executor is killed", func(h *hosts) { h.kill("executor-serve-stdio") }},
			{"srun is killed", func(h *hosts) {
				job := strings.Fields(h.run("squeue", "-h", "-o", "%i"))
				h.kill("srun -u")
				h.run("scancel", job...) // which Slurm keeps, as with any srun that is killed
			}},
		})
		h.until(t, "no job is left", func() bool { return strings.TrimSpace(h.run("squeue", "-h")) == "" })
	})
	t.Run("ssh", func(t *testing.T) {
		config := h.network(t)
		h.campaigns(t, map[string][]string{
			"there": {"ssh", "-F", config, h.address(1)},
		}, []mishap{
			{"nothing", nil},
			{"a session is killed", func(h *hosts) { h.kill("sshd: root") }},
			{"a link is down for a while", func(h *hosts) {
				h.run("ip", "link", "set", h.link(1), "down")
				time.Sleep(3 * time.Second) // as long as it is down: nothing is waited for
				h.run("ip", "link", "set", h.link(1), "up")
			}},
		})
	})
}

// mishap is a fault that is injected during a search.
type mishap struct {
	name string
	do   func(*hosts)
}

// campaigns searches with each launcher through each mishap. Every search has to
// end well, with a winner, and with nothing left of it.
func (h *hosts) campaigns(t *testing.T, launchers map[string][]string, mishaps []mishap) {
	var config strings.Builder
	for name, words := range launchers {
		fmt.Fprintf(&config, "[executor.%s]\nkind = \"cpu\"\nlauncher = [\"%s\"]\n", name, strings.Join(words, `", "`))
	}
	h.write("colltune.toml", config.String())
	for name, words := range launchers {
		for _, m := range mishaps {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				if _, err := exec.LookPath(words[0]); err != nil {
					t.Skip(err)
				}
				h.campaign(t, name, m)
			})
		}
	}
}

func (h *hosts) campaign(t *testing.T, name string, m mishap) {
	campaign := filepath.Join(t.TempDir(), "campaign")
	cmd := h.command(h.colltune, "search", "-t", "ring:4", "-c", "allreduce", "-b", "256K", "-e", "256K",
		"--family", "ring,recursive-doubling", "--protocol", "Simple", "--instances", "1", "-n", "50",
		"--executor", name, "--campaign", campaign)
	var table, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &table, &told
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// Its first trial is under way, or over, once the journal has more than the
	// executor's line.
	measuring := func() bool {
		journal, _ := os.ReadFile(filepath.Join(campaign, "trials.jsonl"))
		return bytes.Contains(journal, []byte(`"trial"`))
	}
	for m.do != nil && !measuring() {
		select {
		case err := <-ended:
			t.Fatalf("ended before its first trial: %v\n%s", err, told.Bytes())
		case <-time.After(50 * time.Millisecond):
		}
	}
	if m.do != nil {
		m.do(h)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v\n%s%s", err, table.Bytes(), told.Bytes())
	} else if !strings.Contains(table.String(), "measured by cpu") || !strings.Contains(table.String(), "256K") {
		t.Errorf("no winner:\n%s", table.Bytes())
	} else if m.do == nil && !strings.Contains(table.String(), "of which 0 failed") {
		t.Errorf("trials failed of nothing:\n%s%s", table.Bytes(), told.Bytes())
	}
	h.untilGone(t, "executor-serve", "campaign")
}

// untilGone waits for the end of all processes whose command lines have one of
// the words, and tells of those that stay.
func (h *hosts) untilGone(t *testing.T, words ...string) {
	t.Helper()
	var left []process
	for range 600 {
		left = nil
		for _, word := range words {
			left = append(left, h.processes(word)...)
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("left behind: %v", left)
}

// kill kills one of our processes whose command line has a word, if there is one.
func (h *hosts) kill(word string) {
	if all := h.processes(word); len(all) > 0 { // else it has come to its end meanwhile
		_ = syscall.Kill(all[0].pid, syscall.SIGKILL)
	}
}
