package ir

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/colltune/colltune/compiler/collective"
)

// Heading returns a collective on one line, as Print begins with it. What has no
// words of its own follows as JSON.
func Heading(c collective.Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s over %d ranks, %d chunks", c.Name, c.Ranks, c.Chunks)
	if c.Root != 0 {
		fmt.Fprintf(&b, ", root %d", c.Root)
	}
	if c.InPlace {
		b.WriteString(", in place")
	}
	if more := headingRest(c); more != "" {
		b.WriteString(", with " + more)
	}
	return b.String()
}

// headingRest returns the fields of a Spec that Heading's words do not cover,
// as JSON.
func headingRest(c collective.Spec) string {
	text, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	rest := map[string]json.RawMessage{}
	if json.Unmarshal(text, &rest) != nil {
		return ""
	}
	for _, spoken := range [...]string{"name", "ranks", "chunks", "root", "in_place"} {
		delete(rest, spoken)
	}
	if text, err = json.Marshal(rest); err != nil || len(rest) == 0 { // by key, sorted
		return ""
	}
	return string(text)
}

// ParseHeading reads a line that Heading wrote, and returns an error for any other. It
// does not check that the collective exists: see collective.New.
func ParseHeading(line string) (c collective.Spec, err error) {
	if head, more, ok := strings.Cut(line, ", with "); ok {
		if err := json.Unmarshal([]byte(more), &c); err != nil {
			return c, fmt.Errorf("%.40q: %w", more, err)
		}
		line = head
	}
	parts := strings.Split(line, ", ")
	name, ranks, ok := strings.Cut(parts[0], " over ")
	ranks, ok2 := strings.CutSuffix(ranks, " ranks")
	if !ok || !ok2 || len(parts) < 2 {
		return c, fmt.Errorf("%.60q: want NAME over N ranks, N chunks", line)
	}
	chunks, ok := strings.CutSuffix(parts[1], " chunks")
	if !ok {
		return c, fmt.Errorf("%.60q: want N chunks", parts[1])
	}
	c.Name, c.Root, c.InPlace = name, 0, false
	if c.Ranks, err = number(ranks, maxRanks); err != nil {
		return c, err
	}
	if c.Chunks, err = number(chunks, math.MaxInt32); err != nil {
		return c, err
	}
	for _, part := range parts[2:] {
		root, rooted := strings.CutPrefix(part, "root ")
		switch {
		case part == "in place":
			c.InPlace = true
		case rooted:
			if c.Root, err = number(root, maxRanks); err != nil {
				return c, err
			}
		default:
			return c, fmt.Errorf("%.60q: want root N or in place", part)
		}
	}
	return c, nil
}

func number(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most || text[0] == '+' || text[0] == '-' {
		return 0, fmt.Errorf("%.20q: want a number of 0 to %d", text, most)
	}
	return n, nil
}

// Parse reads a program that Print wrote, which lacks name and comment. Errors
// name the line. It does not check the program's meaning: see package verify.
func Parse(r io.Reader) (*Program, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 1<<16), maxHeading)
	p := &Program{}
	at := 0
	for in.Scan() {
		at++
		line := strings.TrimRightFunc(in.Text(), unicode.IsSpace)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
	}
	switch err := in.Err(); {
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", at+1, err)
	case p.Collective.Name == "":
		return nil, fmt.Errorf("no program: want NAME over N ranks, N chunks")
	case len(p.GPUs) != p.Collective.Ranks: // as many as lines, so that memory is bounded by the text
		return nil, fmt.Errorf("%d of %d GPUs", len(p.GPUs), p.Collective.Ranks)
	}
	return p, nil
}

// maxHeading is the length of the longest line: a heading with a custom
// collective.
const maxHeading = 1 << 26

func (p *Program) line(line string) (err error) {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	words := strings.Fields(line)
	switch {
	case p.Collective.Name == "":
		p.Collective, err = ParseHeading(line)
		return err
	case indent == 0 && words[0] == "protocol" && len(p.GPUs) == 0:
		p.Protocol, err = ParseProtocol(words)
		return err
	case indent == 0 && words[0] == "gpu":
		return p.gpuLine(words)
	case indent == 2 && words[0] == "tb" && len(p.GPUs) > 0:
		return p.GPUs[len(p.GPUs)-1].threadblockLine(words)
	case indent == 4 && len(p.GPUs) > 0 && len(p.GPUs[len(p.GPUs)-1].Threadblocks) > 0:
		tbs := p.GPUs[len(p.GPUs)-1].Threadblocks
		return tbs[len(tbs)-1].stepLine(words)
	}
	return fmt.Errorf("%.60q: want gpu N, then under it tb N, then under it a step", line)
}

// ParseProtocol reads the line of a protocol that Print wrote, word by word, and returns
// the protocol, or an error for any other line.
func ParseProtocol(words []string) (string, error) {
	if len(words) != 2 || words[0] != "protocol" || !slices.Contains(Protocols, words[1]) {
		return "", fmt.Errorf("%.60q: want protocol and one of %s", strings.Join(words, " "), strings.Join(Protocols, ", "))
	}
	return words[1], nil
}

// next returns a number that must follow those before.
func next(word string, want int, of string) error {
	if n, err := number(word, math.MaxInt32); err != nil || n != want {
		return fmt.Errorf("%s %.20q: want %s %d", of, word, of, want)
	}
	return nil
}

func (p *Program) gpuLine(words []string) (err error) {
	if len(words) != 2 && (len(words) != 4 || words[2] != "scratch") {
		return fmt.Errorf("%.60q: want gpu N, or gpu N scratch N", strings.Join(words, " "))
	}
	if err := next(words[1], len(p.GPUs), "gpu"); err != nil {
		return err
	}
	g := GPU{}
	if len(words) == 4 {
		if g.Scratch, err = number(words[3], math.MaxInt32); err != nil {
			return err
		}
	}
	p.GPUs = append(p.GPUs, g)
	return nil
}

func (g *GPU) threadblockLine(words []string) (err error) {
	tb := Threadblock{Send: -1, Recv: -1}
	bad := fmt.Errorf("%.60q: want tb N [send→N] [recv←N] ch N", strings.Join(words, " "))
	if len(words) < 4 || words[len(words)-2] != "ch" {
		return bad
	}
	if err := next(words[1], len(g.Threadblocks), "tb"); err != nil {
		return err
	}
	if tb.Channel, err = number(words[len(words)-1], math.MaxInt16); err != nil {
		return err
	}
	for _, w := range words[2 : len(words)-2] {
		if to, ok := strings.CutPrefix(w, "send→"); ok && tb.Send < 0 {
			tb.Send, err = number(to, maxRanks-1)
		} else if from, ok := strings.CutPrefix(w, "recv←"); ok && tb.Recv < 0 {
			tb.Recv, err = number(from, maxRanks-1)
		} else {
			return bad
		}
		if err != nil {
			return err
		}
	}
	g.Threadblocks = append(g.Threadblocks, tb)
	return nil
}

func (tb *Threadblock) stepLine(words []string) (err error) {
	if err := next(words[0], len(tb.Steps), "step"); err != nil {
		return err
	}
	if len(words) < 2 {
		return fmt.Errorf("step %s has no instruction", words[0])
	}
	s := Step{}
	if s.Op, err = ParseOp(words[1]); err != nil {
		return err
	}
	words = words[2:]
	if s.Op != Nop {
		if words, err = s.placesOf(words); err != nil {
			return err
		}
	}
	if len(words) > 0 && words[len(words)-1] == "flagged" {
		s.HasDep, words = true, words[:len(words)-1]
	}
	if len(words) > 0 {
		if words[0] != "waits" || len(words) == 1 {
			return fmt.Errorf("%.60q: want waits TB.STEP …, flagged", strings.Join(words, " "))
		}
		for _, w := range words[1:] {
			t, n, _ := strings.Cut(w, ".")
			tb, err1 := number(t, math.MaxInt32)
			step, err2 := number(n, math.MaxInt32)
			if err := cmp.Or(err1, err2); err != nil {
				return err
			}
			s.Deps = append(s.Deps, Dep{TB: int32(tb), Step: int32(step)})
		}
	}
	tb.Steps = append(tb.Steps, s)
	return nil
}

// placesOf reads a step's places and returns what follows them.
func (s *Step) placesOf(words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("%v has no place", s.Op)
	}
	first, count, err := ParsePlace(words[0])
	if err != nil {
		return nil, err
	}
	second := first
	words = words[1:]
	if len(words) > 1 && words[0] == "→" {
		var n int32
		if second, n, err = ParsePlace(words[1]); err != nil {
			return nil, err
		}
		if n != count || !s.Op.ReadsSrc() || !s.Op.WritesDst() {
			return nil, fmt.Errorf("%v %.20q: want one place, or two of as many chunks where it reads and writes", s.Op, words[1])
		}
		words = words[2:]
	}
	s.Count = count
	if s.Op.ReadsSrc() {
		s.Src = first
	}
	if s.Op.WritesDst() {
		s.Dst = second
	}
	return words, nil
}

// ParsePlace reads a place as Print writes it: in[3], out[4:8] of 4 chunks, or
// sc[0:13:4] of the 4 chunks 0, 4, 8 and 12. It returns an error for any other text.
func ParsePlace(text string) (at Loc, count int32, err error) {
	name, rest, ok := strings.Cut(text, "[")
	rest, ok2 := strings.CutSuffix(rest, "]")
	buf := slices.IndexFunc([]collective.Buffer{collective.In, collective.Out, collective.Scratch},
		func(b collective.Buffer) bool { return b.String() == name })
	fields := strings.Split(rest, ":")
	if !ok || !ok2 || buf < 0 || len(fields) > 3 {
		return at, 0, fmt.Errorf("place %.20q: want in, out or sc, and [N], [N:N] or [N:N:N]", text)
	}
	first, err := number(fields[0], math.MaxInt32-1)
	if err != nil {
		return at, 0, err
	}
	end, stride := first+1, 1
	if len(fields) > 1 {
		if end, err = number(fields[1], math.MaxInt32); err == nil && end < first {
			err = fmt.Errorf("place %.20q: want an end that is not before its beginning", text)
		}
	}
	if len(fields) > 2 && err == nil {
		if stride, err = number(fields[2], math.MaxInt32); err == nil && stride == 0 {
			err = fmt.Errorf("place %.20q: want a stride of at least 1", text)
		}
	}
	if err != nil {
		return at, 0, err
	}
	count = int32((end - first + stride - 1) / stride)
	return Loc{Buf: collective.Buffer(buf), Off: int32(first), Stride: int32(stride)}.Normal(count), count, nil
}

// ParseOp returns the instruction with a short name (Op.String), or an error that lists
// the names.
func ParseOp(name string) (Op, error) {
	if i := slices.IndexFunc(ops[:], func(o opRow) bool { return o.name == name }); i >= 0 {
		return Op(i), nil
	}
	return 0, fmt.Errorf("instruction %.20q: want one of %s", name, opNames())
}
