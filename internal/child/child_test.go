package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() {
	Register("test-echo", func(c *Conn) error {
		for {
			b, err := c.Receive()
			if err != nil {
				return err
			}
			if err := c.Send(b); err != nil {
				return err
			}
		}
	})
	Register("test-print", func(c *Conn) error {
		fmt.Println("to standard output") // must not become a frame
		fmt.Fprintln(os.Stderr, "to standard error")
		return c.Send([]byte("done"))
	})
	Register("test-sleep", func(*Conn) error { time.Sleep(time.Hour); return nil })
	Register("test-error", func(*Conn) error { return errors.New("disk on fire") })
	Register("test-panic", func(*Conn) error { panic("a bug") })
	Register("test-garbage", func(c *Conn) error {
		_, err := c.w.WriteString("ok  \tgithub.com")
		return errors.Join(err, c.w.Flush(), errors.New("spoke"))
	})
	Register("test-half", func(c *Conn) error {
		_, err := c.w.Write([]byte{0, 0, 0, 9, 'h'})
		return errors.Join(err, c.w.Flush())
	})
	Register("test-eat", func(c *Conn) error {
		var kept [][]byte
		for range 1 << 20 {
			b := make([]byte, 16<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			kept = append(kept, b)
		}
		return c.Send([]byte{byte(len(kept))})
	})
	Register("test-raise", func(c *Conn) error {
		var kept []byte
		for _, more := range []int{64 << 20, 300 << 20} { // the second is beyond the first cap
			if err := c.RaiseMemory(int64(2 * more)); err != nil {
				return err
			}
			kept = make([]byte, more)
			for i := 0; i < len(kept); i += 4096 {
				kept[i] = 1
			}
			time.Sleep(3 * look)
		}
		return c.Send([]byte(strconv.Itoa(len(kept))))
	})
	Register("test-last-words", func(c *Conn) error { return errors.Join(c.Send([]byte("a")), c.Send([]byte("b"))) })
	Register("test-grandchild", func(c *Conn) error {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			return err
		}
		if err := c.Send([]byte(strconv.Itoa(cmd.Process.Pid))); err != nil {
			return err
		}
		time.Sleep(time.Hour)
		return nil
	})
	Register("test-nested", func(c *Conn) error {
		_, err := Start(Options{Name: "test-echo"})
		return c.Send([]byte(fmt.Sprint(err)))
	})
}

func TestMain(m *testing.M) {
	Dispatch(os.Args)
	if os.Getenv("COLLTUNE_TEST_PARENT") != "" { // the parent that TestChildDiesWithParent kills
		p, err := Start(Options{Name: "test-grandchild"})
		if err == nil {
			var b []byte
			b, err = p.Receive(context.Background(), 100)
			fmt.Println(string(b))
		}
		if err != nil {
			fmt.Println(err)
		}
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

func start(t *testing.T, name string, memory int64) (*Process, context.Context) {
	t.Helper()
	p, err := Start(Options{Name: name, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return p, ctx
}

func TestFramesThereAndBack(t *testing.T) {
	p, ctx := start(t, "test-echo", 0)
	for _, n := range []int{0, 1, 4095, 70000, 3 << 20} {
		sent := bytes.Repeat([]byte{byte(n), 7}, n/2)
		done := make(chan error)
		go func() { done <- p.Send(sent) }() // longer than a pipe holds: both ends must move
		got, err := p.Receive(ctx, 4<<20)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("%d bytes came back as %d: %v", len(sent), len(got), err)
		}
	}
	if !p.Alive() {
		t.Error("dead after work well done")
	}
	p.Kill()
	p.Kill()
	if p.Alive() || !strings.Contains(p.State(), "killed") {
		t.Errorf("after Kill: %s", p.State())
	}
}

func TestWhatIsPrintedIsKeptApart(t *testing.T) {
	p, ctx := start(t, "test-print", 0)
	if b, err := p.Receive(ctx, 100); err != nil || string(b) != "done" {
		t.Fatalf("%q, %v", b, err)
	}
	if _, err := p.Receive(ctx, 100); !errors.Is(err, ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
	if got := p.Tail(); got != "to standard output\nto standard error\n" {
		t.Errorf("standard error: %q", got)
	}
}

func TestEndsAreErrorsThatSayHow(t *testing.T) {
	for _, c := range []struct{ name, state, tail string }{
		{"test-error", "exit status 1", "disk on fire"},
		{"test-panic", "exit status 2", "panic: a bug"},
		{"test-half", "exit status 0", ""},
		{"test-unheard-of", "exit status 2", `unknown child "test-unheard-of": want one of test-`},
	} {
		p, ctx := start(t, c.name, 0)
		_, err := p.Receive(ctx, 100)
		if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), c.state) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: %v", c.name, err)
		}
		if !strings.Contains(p.Tail(), c.tail) {
			t.Errorf("%s left %q", c.name, p.Tail())
		}
	}
}

func TestGarbageIsAFrameError(t *testing.T) {
	p, ctx := start(t, "test-garbage", 0)
	_, err := p.Receive(ctx, 1<<20)
	var long *FrameError
	if !errors.As(err, &long) || long.Max != 1<<20 {
		t.Errorf("got %v", err)
	}
}

func TestHangEndsWithTheContext(t *testing.T) {
	p, _ := start(t, "test-sleep", 0)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Receive(ctx, 100); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- p.Send(make([]byte, 8<<20)) }() // nobody reads: blocks
	p.Kill()
	if err := <-done; !errors.Is(err, ErrEnded) {
		t.Errorf("a blocked send ended with %v", err)
	}
}

func TestMemoryCap(t *testing.T) {
	p, ctx := start(t, "test-eat", 256<<20)
	if _, err := p.Receive(ctx, 100); !errors.Is(err, ErrEnded) {
		t.Fatalf("got %v", err)
	}
	if !p.OutOfMemory() {
		t.Errorf("no word of memory: %s, %.200q", p.State(), p.Tail())
	}
	for _, innocent := range []string{"test-panic", "test-error", "test-print"} {
		p, ctx := start(t, innocent, 256<<20)
		for err := error(nil); err == nil; {
			_, err = p.Receive(ctx, 100)
		}
		if p.OutOfMemory() {
			t.Errorf("%s is taken for a death of memory", innocent)
		}
	}
	if _, err := Start(Options{Name: "test-echo", Memory: -1}); err == nil {
		t.Error("a negative cap was taken")
	}
}

func TestRaiseMemory(t *testing.T) {
	p, ctx := start(t, "test-raise", 100<<20)
	if b, err := p.Receive(ctx, 100); err != nil || string(b) != strconv.Itoa(300<<20) {
		t.Errorf("%s, %v, %.200q", b, err, p.Tail())
	}
}

// What a child sent is received, even if it has ended.
func TestFramesOfOneThatEnded(t *testing.T) {
	for range 20 {
		p, ctx := start(t, "test-last-words", 0)
		<-p.ended
		for _, want := range []string{"a", "b"} {
			if b, err := p.Receive(ctx, 100); err != nil || string(b) != want {
				t.Fatalf("%q, %v, want %q", b, err, want)
			}
		}
		for range 3 {
			if _, err := p.Receive(ctx, 100); !errors.Is(err, ErrEnded) {
				t.Fatalf("after the end: %v", err)
			}
		}
	}
}

func TestKillTakesTheGroup(t *testing.T) {
	p, ctx := start(t, "test-grandchild", 0)
	b, err := p.Receive(ctx, 100)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	gone(t, pid)
}

// A parent killed with no chance to clean up takes child and grandchild along.
func TestChildDiesWithParent(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "COLLTUNE_TEST_PARENT=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 20)
	n, _ := out.Read(line)
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	parent, err := parentOf(pid)
	if err != nil {
		t.Skip(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	gone(t, parent)
	_ = syscall.Kill(pid, syscall.SIGKILL) // the sleep: orphaned where the child died too fast to kill its group
}

func parentOf(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("parents can't be looked up here: %w", err)
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return strconv.Atoi(fields[1])
}

// gone waits until a process is there no more, or only as a zombie that nobody
// reaps.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 500 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil && syscall.Kill(pid, 0) != nil {
			return
		}
		if i := bytes.LastIndexByte(stat, ')'); i > 0 && bytes.HasPrefix(stat[i:], []byte(") Z")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

func TestChildrenStartNoChildren(t *testing.T) {
	p, ctx := start(t, "test-nested", 0)
	b, err := p.Receive(ctx, 1000)
	if err != nil || !strings.Contains(string(b), "call child.Dispatch(os.Args) first") {
		t.Errorf("%q, %v", b, err)
	}
}

func TestDispatchLeavesOthersAlone(t *testing.T) {
	for _, args := range [][]string{nil, {"colltune"}, {"colltune", "search", hidden}} {
		Dispatch(args) // returns
	}
	for _, args := range [][]string{{}, {"test-echo"}, {"test-echo", "many"}, {"nobody", "0"}} {
		if code := work(args); code != 2 {
			t.Errorf("%q exits with %d", args, code)
		}
	}
}

func TestTailKeepsBothEnds(t *testing.T) {
	var r ring
	for i := range 5000 {
		fmt.Fprintf(&r, "line %d\n", i)
	}
	s := r.String()
	if len(s) > tailBytes+20 || !strings.HasPrefix(s, "line 0\n") || !strings.HasSuffix(s, "line 4999\n") || !strings.Contains(s, "[…]") {
		t.Errorf("%d bytes: %.40q … %q", len(s), s, s[len(s)-40:])
	}
}

func FuzzReadFrame(f *testing.F) {
	for _, seed := range []string{"", "\x00\x00\x00\x01a", "\x00\x00\x00\x05ab", "\xff\xff\xff\xff", "ok  \tx"} {
		f.Add([]byte(seed), 64)
	}
	f.Fuzz(func(t *testing.T, b []byte, most int) {
		if most < 0 || most > 1<<20 {
			return
		}
		frame, err := readFrame(bytes.NewReader(b), most)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeFrame(&again, frame); err != nil || len(frame) > most || !bytes.Equal(again.Bytes(), b[:4+len(frame)]) {
			t.Errorf("%q was read as %q: %v", b, frame, err)
		}
	})
}

func BenchmarkRoundTrip(b *testing.B) {
	p, err := Start(Options{Name: "test-echo"})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Kill()
	frame := make([]byte, 1000)
	for b.Loop() {
		if err := p.Send(frame); err != nil {
			b.Fatal(err)
		}
		if _, err := p.Receive(context.Background(), 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

var _ io.Writer = (*ring)(nil)
