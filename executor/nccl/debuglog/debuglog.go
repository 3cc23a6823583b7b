package debuglog

import (
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/lazyregexp"
)

// Log is the content of a log.
type Log struct {
	Library string // nccl or rccl; "": not logged
	Version string // 2.30.7
	// Choices are the choices made for calls, in order. NCCL logs them since 2.20, in
	// numbers; since 2.23 with the collective; since 2.24 in names, with channels.
	Choices []Choice
	// Kernels are the symmetric kernels that calls ran on, in order: NCCL logs them since
	// 2.27, in place of a choice.
	Kernels []Kernel
	// MSCCL is the number of programs that were loaded and connected; -1: not logged.
	MSCCL int
	// Channels is a communicator's number of channels for collectives; 0: not logged.
	Channels int
	// Environment are the variables that the library logs as read, with their values.
	Environment map[string]string
	Warnings    []string // NCCL WARN, the first few
}

// Choice is the algorithm, protocol and channels of a call.
type Choice struct {
	Collective string // allreduce; "" before 2.23
	Bytes      int64  // of the call
	Algorithm  string // ring, tree, nvls, …
	Protocol   string // ll, ll128, simple
	Channels   int    // 0: not logged
}

// Kernel is a symmetric kernel that a call ran on.
type Kernel struct {
	Name string // as in NCCL_SYM_KERNEL: AllReduce_AGxLL_R
	CTAs int    // threadblocks of a GPU
}

var (
	kernelLine      = lazyregexp.New(`\[Symmetric\]: *-?\d+ Bytes -> Kernel (\w{1,64}) nchannels (\d+)`)
	choiceLine      = lazyregexp.New(`(?:(\w+): *)?(\d+) Bytes -> Algo (\w+) proto (\w+)(?: time [-0-9.eE+]+)?(?: channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\})?`)
	connectedLine   = lazyregexp.New(`Connected (\d+) MSCCL algorithms`)
	channelsLine    = lazyregexp.New(`NCCL INFO (\d+) coll channels`)
	environmentLine = lazyregexp.New(`NCCL INFO ((?:NCCL|RCCL|MSCCL)_\w+) set by environment to (.*)`)
	versionLine     = lazyregexp.New(`\b(NCCL|RCCL) version *:? *(\d+\.\d+\.\d+)`)
	warningLine     = lazyregexp.New(`NCCL WARN (.*)`)
)

// algorithms and protocols, by the numbers that some versions print.
var (
	algorithms = []string{"tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"}
	protocols  = []string{"ll", "ll128", "simple"}
)

// spellings maps names that differ between versions to one.
var spellings = map[string]string{
	"collnet_direct": "collnetdirect", "collnet_chain": "collnetchain", "nvls_tree": "nvlstree",
}

const (
	maxWarnings = 8
	maxChoices  = 1 << 16
	maxText     = 300
)

// Read reads a program's output, in which other lines may stand between the log's. Lines
// that it does not know are skipped.
func Read(text string) *Log {
	log := &Log{MSCCL: -1, Environment: map[string]string{}}
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		log.line(strings.TrimRight(line, "\r"))
	}
	return log
}

func (l *Log) line(line string) {
	const longest = 4096 // no line that is looked for is longer
	if len(line) > longest {
		return
	}
	if m := choiceLine().FindStringSubmatch(line); m != nil && len(l.Choices) < maxChoices {
		l.choice(m)
		return
	}
	if m := kernelLine().FindStringSubmatch(line); m != nil && len(l.Kernels) < maxChoices {
		n, _ := strconv.Atoi(m[2])
		l.Kernels = append(l.Kernels, Kernel{m[1], n})
		return
	}
	if m := connectedLine().FindStringSubmatch(line); m != nil {
		n, _ := strconv.Atoi(m[1])
		l.MSCCL = max(l.MSCCL, n)
	}
	if m := channelsLine().FindStringSubmatch(line); m != nil {
		l.Channels, _ = strconv.Atoi(m[1])
	}
	if m := environmentLine().FindStringSubmatch(line); m != nil {
		l.Environment[m[1]] = strings.TrimSuffix(strings.TrimSpace(m[2]), ".")
	}
	if m := versionLine().FindStringSubmatch(line); m != nil && l.Library != "rccl" {
		// RCCL prints the version of NCCL, too.
		l.Library, l.Version = strings.ToLower(m[1]), m[2]
	}
	if m := warningLine().FindStringSubmatch(line); m != nil && len(l.Warnings) < maxWarnings {
		l.Warnings = append(l.Warnings, m[1][:min(len(m[1]), maxText)])
	}
}

func (l *Log) choice(m []string) {
	bytes, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		return
	}
	c := Choice{Collective: strings.ToLower(m[1]), Bytes: bytes, Algorithm: name(m[3], algorithms), Protocol: name(m[4], protocols)}
	if m[5] != "" {
		lo, errLo := strconv.Atoi(m[5])
		hi, errHi := strconv.Atoi(m[6])
		if errLo == nil && errHi == nil && hi >= lo && hi < 1<<16 {
			c.Channels = hi - lo + 1
		}
	}
	l.Choices = append(l.Choices, c)
}

// name returns a name that was printed as such or as a number.
func name(printed string, numbered []string) string {
	if n, err := strconv.Atoi(printed); err == nil && n >= 0 && n < len(numbered) {
		return numbered[n]
	}
	s := strings.ToLower(printed)
	if plain, other := spellings[s]; other {
		return plain
	}
	return s
}
