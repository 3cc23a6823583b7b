package executor

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What a caller branches on. Every error of Host wraps at most one of them; any
// other error of Run is the back end's own answer: this trial failed.
var (
	// ErrLost: the executor doesn't start, or doesn't come back. There will be
	// no more measurements.
	ErrLost = errors.New("executor lost")
	// ErrQuarantined: the program has killed its executor twice and is not
	// given to another.
	ErrQuarantined = errors.New("program quarantined")
	// ErrTimeout: the trial took longer than its deadline, or stood still.
	ErrTimeout = errors.New("trial timed out")
	// ErrUnsupported: the back end can't run such a trial. A back end wraps it
	// in the error it returns; the host hands it on.
	ErrUnsupported = errors.New("not supported by this executor")
	// ErrUnavailable: the back end can't be had on this machine, as its library
	// or its devices are not there. A back end wraps it in Describe's error;
	// starting it again would change nothing, and the host doesn't.
	ErrUnavailable = errors.New("executor not available here")
	// ErrDeviceLost: the device is of no more use to this process, as after a
	// kernel that crashed. A back end wraps it in the error it returns; the host
	// replaces the process and tries the trial once more.
	ErrDeviceLost = errors.New("device lost")
	// ErrNotFound: there is no executor of that name.
	ErrNotFound = errors.New("executor not found")
	// ErrClosed: Run after Close.
	ErrClosed = errors.New("executor closed")
)

// CrashError is an executor that ended in the middle of a call.
type CrashError struct {
	Executor string
	Exit     string // "exit status 2", "signal: killed", …
	Stderr   string // its last output
}

func (e *CrashError) Error() string {
	return fmt.Sprintf("executor %s died (%s)%s", e.Executor, e.Exit, quoted(e.Stderr))
}

// QuarantineError is a program that isn't given to an executor any more.
type QuarantineError struct {
	Program string // hash
	Strikes int
	Last    error // the last of them
}

func (e *QuarantineError) Error() string {
	return fmt.Sprintf("program %.12s quarantined after %d executors: %v", e.Program, e.Strikes, e.Last)
}

func (e *QuarantineError) Unwrap() []error { return []error{ErrQuarantined, e.Last} }

// TimeoutError is a trial that was given up.
type TimeoutError struct {
	After time.Duration
	// Stuck tells that the trial stood still; a slow one was still advancing
	// when its deadline came.
	Stuck  bool
	Why    string
	Stderr string
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("trial given up after %s: %s%s", e.After.Round(time.Millisecond), e.Why, quoted(e.Stderr))
}

func (e *TimeoutError) Unwrap() error { return ErrTimeout }

// UnavailableError is an executor that can't be had on this machine.
type UnavailableError struct {
	Executor string
	Why      string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("executor %s is not to be had here: %s", e.Executor, e.Why)
}

func (e *UnavailableError) Unwrap() error { return ErrUnavailable }

// Unavailable makes an error of Describe one that wraps ErrUnavailable, in its
// own words.
func Unavailable(err error) error { return &unavailable{err} }

type unavailable struct{ error }

func (e *unavailable) Unwrap() []error { return []error{e.error, ErrUnavailable} }

// LostError is an executor that can't be had.
type LostError struct {
	Executor string
	Starts   int // tries in a row
	Last     error
}

func (e *LostError) Error() string {
	times := "once"
	if e.Starts > 1 {
		times = fmt.Sprintf("%d times", e.Starts)
	}
	return fmt.Sprintf("executor %s lost: started %s, last: %v", e.Executor, times, e.Last)
}

func (e *LostError) Unwrap() []error { return []error{ErrLost, e.Last} }

// quotedMost is how much of what an executor said a message has room for.
const quotedMost = 2048

// crashHeads begin the lines that say why a process crashed; what follows them
// says where, at any length.
var crashHeads = []string{"panic: ", "fatal error: ", "unexpected fault address", "runtime: ", "terminate called", "Traceback (most recent call last)"}

// quoted is the end of what an executor said, as a suffix of a message: whole
// lines, a few of them, and the beginning of a crash report. The rest is in the
// error's Stderr.
func quoted(stderr string) string {
	s := strings.TrimRight(stderr, "\n")
	if s == "" {
		return ""
	}
	if len(s) > quotedMost {
		end := lastLines(s, quotedMost/2)
		if head := firstLines(s[crashHead(s):], quotedMost/2); head != "" && !strings.Contains(end, head) {
			s = head + "\n[…]\n" + end
		} else {
			s = lastLines(s, quotedMost)
		}
	}
	return "; its last output:\n\t" + strings.ReplaceAll(s, "\n", "\n\t")
}

// crashHead is where the last crash report of a text begins; its end where there
// is none.
func crashHead(s string) int {
	at := -1
	for _, head := range crashHeads {
		if strings.HasPrefix(s, head) {
			at = max(at, 0)
		}
		if i := strings.LastIndex(s, "\n"+head); i >= 0 {
			at = max(at, i+1)
		}
	}
	if at < 0 {
		return len(s)
	}
	return at
}

// firstLines and lastLines are as many whole lines of a text as fit; a piece of
// one that is longer.
func firstLines(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if i := strings.LastIndexByte(s[:most], '\n'); i >= 0 {
		return s[:i]
	}
	return s[:most]
}

func lastLines(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[len(s)-most:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[i+1:]
	}
	return s
}
