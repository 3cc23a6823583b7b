package executor

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The kinds of error that callers tell apart. An error of host.Host wraps at most one of
// them; any other error of Run is the executor's own, and fails this trial alone. Package
// autotune makes outcomes of them (outcomeOf in trials.go).
var (
	// ErrLost: the executor doesn't start any more. There will be no more measurements.
	ErrLost = errors.New("executor lost")
	// ErrTimeout: the trial took longer than its deadline, or stood still.
	ErrTimeout = errors.New("trial timed out")
	// ErrUnsupported: the executor can't run such a trial. Executors wrap it in errors of
	// Run.
	ErrUnsupported = errors.New("not supported by this executor")
	// ErrUnavailable: this machine lacks the executor's library or devices. Executors wrap
	// it in errors of Describe. The host does not start them again.
	ErrUnavailable = errors.New("executor not available here")
	// ErrSettings: the user's settings of the executor, or files that they name, are wrong.
	// Executors wrap it in errors of Describe. The host does not start them again.
	ErrSettings = errors.New("wrong settings")
	// ErrDeviceLost: this process can't use the device any more, as after a kernel that
	// crashed. Executors wrap it in errors of Run; the host replaces the process and
	// tries the trial once more.
	ErrDeviceLost = errors.New("device lost")
	// ErrNotFound: there is no executor of that name.
	ErrNotFound = errors.New("executor not found")
	// ErrClosed: Run after Close.
	ErrClosed = errors.New("executor closed")
)

// CrashError reports an executor that ended in the middle of a call.
type CrashError struct {
	Executor string
	Exit     string // "exit status 2", "signal: killed", …
	Stderr   string // its last output

	// DeviceLost reports that the executor ended the trial itself, because its device
	// was lost.
	DeviceLost bool
}

// Error includes the last lines of the executor's output.
func (e *CrashError) Error() string {
	return fmt.Sprintf("executor %s died (%s)%s", e.Executor, e.Exit, QuoteOutput(e.Stderr))
}

// TimeoutError reports a trial that was given up.
type TimeoutError struct {
	After  time.Duration
	Why    string
	Stderr string // the executor's last output
}

// Error includes the last lines of the executor's output.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("trial given up after %s: %s%s", e.After.Round(time.Millisecond), e.Why, QuoteOutput(e.Stderr))
}

// Unwrap returns ErrTimeout.
func (e *TimeoutError) Unwrap() error { return ErrTimeout }

// UnavailableError reports an executor that this machine can't have.
type UnavailableError struct {
	Executor string
	Why      string
}

// Error names the executor and the reason.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("executor %s is not available here: %s", e.Executor, e.Why)
}

// Unwrap returns ErrUnavailable.
func (e *UnavailableError) Unwrap() error { return ErrUnavailable }

// Unavailable makes an error of Describe wrap ErrUnavailable, without changing its text.
func Unavailable(err error) error { return &taggedError{err, ErrUnavailable} }

// WrongSettings makes an error of Describe wrap ErrSettings, without changing its text.
func WrongSettings(err error) error { return &taggedError{err, ErrSettings} }

// Unsupported makes an error of Run wrap ErrUnsupported, without changing its text.
func Unsupported(err error) error { return &taggedError{err, ErrUnsupported} }

type taggedError struct {
	error
	kind error
}

func (e *taggedError) Unwrap() []error { return []error{e.error, e.kind} }

// LostError reports an executor that was started again and again without success.
type LostError struct {
	Executor string
	Starts   int   // in a row
	Trials   int   // in a row that lost its device; 0: it is lost for another reason
	Last     error // of the last start or trial
}

// Error gives the number of starts or trials that failed in a row, and the last failure.
func (e *LostError) Error() string {
	if e.Trials > 0 {
		return fmt.Sprintf("executor %s lost: its device was lost in %d trials in a row, on %d processes, last: %v", e.Executor, e.Trials, e.Starts, e.Last)
	}
	times := "once"
	if e.Starts > 1 {
		times = fmt.Sprintf("%d times", e.Starts)
	}
	return fmt.Sprintf("executor %s lost: started %s, last: %v", e.Executor, times, e.Last)
}

// Unwrap returns ErrLost and the last failure.
func (e *LostError) Unwrap() []error { return []error{ErrLost, e.Last} }

// maxQuoted is how many bytes of an executor's output a message may quote.
const maxQuoted = 2048

// crashHeads begin the lines that say why a process crashed. The lines after them are its
// stacks, of which there may be thousands.
var crashHeads = []string{"panic: ", "fatal error: ", "unexpected fault address", "runtime: ", "terminate called", "Traceback (most recent call last)"}

// QuoteOutput quotes the end of an executor's output as a suffix for a message: a few
// whole lines, and the beginning of a crash report. All of it is in the error's
// Stderr.
func QuoteOutput(stderr string) string {
	s := strings.TrimRight(stderr, "\n")
	if s == "" {
		return ""
	}
	if len(s) > maxQuoted {
		end := lastLines(s, maxQuoted/2)
		if head := firstLines(s[crashHead(s):], maxQuoted/2); head != "" && !strings.Contains(end, head) {
			s = head + "\n[…]\n" + end
		} else {
			s = lastLines(s, maxQuoted)
		}
	}
	return "; its last output:\n\t" + strings.ReplaceAll(s, "\n", "\n\t")
}

// crashHead is where the last crash report in a text begins, or the text's length
// if there is none.
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

// firstLines and lastLines return the whole lines at an end of a text that fit into most
// bytes. If none fits, they cut one.
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
