package synth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// KnownSchema is the value of the key schema in the file of a known routing.
const KnownSchema = "colltune.synth/v1"

// MaxKnownFile is the largest such file, in bytes.
const MaxKnownFile = 16 << 20

// ParseKnown reads a known routing in the form in which `colltune synth -o json` prints an
// answer:
//
//	{
//	  "schema": "colltune.synth/v1", "topology": "dgx-1", "collective": "allreduce",
//	  "ranks": 8, "status": "sat", "chunks": 24, "steps": 4, "rounds": 8,
//	  "schedule": [
//	    {"rounds": 2, "sends": [{"source": -1, "chunk": 0, "from": 0, "to": 1, "reduce": true}, …]},
//	    …
//	  ]
//	}
//
// The other keys of an answer (by, detail, seconds, unit_gbps) may be there and are not read.
// Errors name path, line and key. Whether it is a routing at all, Replay says.
func ParseKnown(path string, text []byte) (KnownRouting, error) {
	r := &knownReader{path: path, text: text, dec: json.NewDecoder(bytes.NewReader(text)), number: map[Item]int{}}
	r.dec.UseNumber()
	r.k.Path = path
	r.answer()
	if _, err := r.dec.Token(); err != io.EOF {
		r.fail("", "more text after the answer")
	}
	return r.k, r.err
}

// knownReader reads a known routing token by token, and keeps the first error.
type knownReader struct {
	path   string
	text   []byte
	dec    *json.Decoder
	k      KnownRouting
	number map[Item]int // by item: its index in k.Items
	err    error
}

// fail records an error at the last token. key is a path such as schedule[2].rounds.
func (r *knownReader) fail(key, format string, args ...any) {
	if r.err != nil {
		return
	}
	line := 1 + bytes.Count(r.text[:r.dec.InputOffset()], []byte("\n"))
	if key != "" {
		key += ": "
	}
	r.err = fmt.Errorf("%s:%d: %s%s", r.path, line, key, fmt.Sprintf(format, args...))
}

// token returns the next token, or nil after an error.
func (r *knownReader) token(key string) json.Token {
	if r.err != nil {
		return nil
	}
	t, err := r.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.fail(key, "the file ends here")
	case errors.As(err, &syntax):
		r.fail(key, "no JSON: %v", err)
	case err != nil:
		r.fail(key, "%v", err)
	}
	return t
}

// delim reads a bracket or brace.
func (r *knownReader) delim(key string, want json.Delim) {
	if t := r.token(key); r.err == nil && t != want {
		r.fail(key, "%s: want %v", describeToken(t), want)
	}
}

// object reads an object. read is called with each key, and reads its value.
func (r *knownReader) object(key string, required, optional []string, read func(name, key string)) {
	r.delim(key, '{')
	seen := map[string]bool{}
	for r.err == nil && r.dec.More() {
		name, _ := r.token(key).(string)
		at := strings.TrimPrefix(key+"."+name, ".")
		switch {
		case r.err != nil:
		case !slices.Contains(required, name) && !slices.Contains(optional, name):
			r.fail(key, "unknown key %s: want %s", describeToken(name), strings.Join(slices.Concat(required, optional), ", "))
		case seen[name]:
			r.fail(at, "a second time")
		default:
			seen[name] = true
			read(name, at)
		}
	}
	r.delim(key, '}')
	for _, name := range required {
		if !seen[name] {
			r.fail(key, "no key %q", name)
		}
	}
}

// array reads an array. read is called with the key of each element, and reads it.
func (r *knownReader) array(key string, read func(key string)) {
	r.delim(key, '[')
	for i := 0; r.err == nil && r.dec.More(); i++ {
		read(fmt.Sprintf("%s[%d]", key, i))
	}
	r.delim(key, ']')
}

func (r *knownReader) integer(key string, lo, hi int) int {
	t := r.token(key)
	number, _ := t.(json.Number)
	n, err := strconv.Atoi(string(number))
	if r.err == nil && (err != nil || n < lo || n > hi) {
		r.fail(key, "%s: want a whole number from %d to %d", describeToken(t), lo, hi)
	}
	return n
}

// string reads a string, one of the wanted ones if there are any.
func (r *knownReader) string(key string, want ...string) string {
	t := r.token(key)
	s, ok := t.(string)
	switch {
	case r.err != nil:
	case !ok:
		r.fail(key, "%s: want a string", describeToken(t))
	case len(want) > 0 && !slices.Contains(want, s):
		r.fail(key, "%s: want %s", describeToken(t), strings.Join(want, " or "))
	}
	return s
}

// skip reads a value that means nothing here.
func (r *knownReader) skip(key string) {
	if _, nested := r.token(key).(json.Delim); nested {
		r.fail(key, "want a number or a string")
	}
}

func describeToken(t json.Token) string {
	if t == nil {
		return "null"
	}
	text := fmt.Sprint(t)
	if len(text) > 40 {
		text = text[:40] + "…"
	}
	if _, quoted := t.(string); quoted {
		return strconv.Quote(text)
	}
	return text
}

// answer reads the whole file.
func (r *knownReader) answer() {
	steps, rounds := 0, 0
	r.object("", []string{"schema", "topology", "collective", "ranks", "status", "chunks", "steps", "rounds", "schedule"},
		[]string{"by", "detail", "seconds", "unit_gbps"}, func(name, key string) {
			switch name {
			case "schema":
				r.string(key, KnownSchema)
			case "status":
				r.string(key, "sat")
			case "topology":
				r.k.Topology = r.string(key)
			case "collective":
				r.k.Collective = r.string(key)
			case "ranks":
				r.k.Ranks = r.integer(key, 2, maxRanks)
			case "chunks":
				r.k.Chunks = r.integer(key, 1, maxItems)
			case "steps":
				steps = r.integer(key, 1, maxSteps)
			case "rounds":
				rounds = r.integer(key, 1, maxRound)
			case "schedule":
				if r.k.Ranks == 0 || steps == 0 || rounds == 0 {
					r.fail(key, "comes before ranks, steps or rounds: want it after them")
				}
				r.schedule(key, steps, rounds)
			default:
				r.skip(key)
			}
		})
}

// schedule reads the steps, of which there are at most the given number, with at most the
// given rounds.
func (r *knownReader) schedule(key string, steps, rounds int) {
	r.array(key, func(key string) {
		if len(r.k.Schedule) == steps {
			r.fail(key, "more than %s", plural(steps, "step"))
			return
		}
		var step Step
		r.object(key, []string{"rounds", "sends"}, nil, func(name, key string) {
			if name == "rounds" {
				step.Rounds = r.integer(key, 1, rounds)
				rounds -= step.Rounds
				return
			}
			r.array(key, func(key string) { step.Sends = append(step.Sends, r.send(key)) })
		})
		r.k.Schedule = append(r.k.Schedule, step)
	})
}

func (r *knownReader) send(key string) (m Send) {
	var it Item
	r.object(key, []string{"source", "chunk", "from", "to"}, []string{"reduce"}, func(name, key string) {
		switch name {
		case "source":
			it.Source = r.integer(key, -1, r.k.Ranks-1)
		case "chunk":
			it.Index = r.integer(key, 0, maxItems-1)
		case "from":
			m.From = r.integer(key, 0, r.k.Ranks-1)
		case "to":
			m.To = r.integer(key, 0, r.k.Ranks-1)
		case "reduce":
			t := r.token(key)
			reduce, ok := t.(bool)
			if r.err == nil && !ok {
				r.fail(key, "%s: want true or false", describeToken(t))
			}
			m.Reduce = reduce
		}
	})
	x, ok := r.number[it]
	if !ok {
		x = len(r.k.Items)
		r.number[it] = x
		r.k.Items = append(r.k.Items, it)
	}
	m.Item = x
	return m
}
