package measured

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Row is what a library of one version took for a call under conditions.
type Row struct {
	Collective string
	Ranks      int
	Bytes      int64 // as nccl-tests counts them
	Library    string
	Version    string // empty: not stated
	Conditions Conditions
	TimeUS     float64 // median of the rows merged
	LowUS      float64 // the fastest of them
	HighUS     float64 // the slowest
	Runs       int     // rows merged
	Source     string  // FILE:LINE of the first

	Noise float64 // the share by which times of one call in its file differ; 0: not known

	width int64 // of elements that are reduced (Finish)
}

// Condition is what a time may depend on besides the call's collective, ranks and size.
type Condition int

// The conditions.
const (
	System Condition = iota
	Nodes
	DType
	Placement  // in or out
	Mode       // eager or graph, or as the source has it
	Registered // how the library knows the buffers: none, user or window; no and yes are none and window
	SMs        // SMs or threadblocks that the library may use
	Threads    // of a threadblock
	Kernel     // the library's algorithm, by its own name
	Protocol   // LL, LL128 or Simple
	Traffic    // of a vector form: who sends how much, as balanced or skew:4
	Evidence   // measured or simulated
	conditions
)

var conditionNames = [conditions]string{"system", "nodes", "dtype", "placement", "mode", "registered", "sms", "threads", "kernel", "protocol", "traffic", "evidence"}

// String returns the condition's name, which is also that of its column.
func (c Condition) String() string { return conditionNames[c] }

// ConditionNames lists the conditions' names.
func ConditionNames() []string { return conditionNames[:] }

// Conditions are the values of the conditions; "": not stated.
type Conditions [conditions]string

// Simulated reports whether the time is a simulator's.
func (r *Row) Simulated() bool { return r.Conditions[Evidence] == "simulated" }

// Width is the size in bytes of the elements that are reduced; 0 where nothing is, and where
// their type is not stated.
func (r *Row) Width() int64 { return r.width }

// Entry returns what competes: the library and its version.
func (r *Row) Entry() string {
	if r.Version == "" {
		return r.Library
	}
	return r.Library + " " + r.Version
}

// column is a named column of a CSV file, and a key of what is stated for a whole file.
type column struct {
	name string
	also string // another name, as others write it
	set  func(*Row, string) error
	get  func(*Row) string // "": not stated; nil: only read
}

// columns is the table of columns, in the order in which they are written. count, time_ms
// and time_s are other units of bytes and time_us.
var columns = []column{
	{"collective", "", setCollective, func(r *Row) string { return r.Collective }},
	{"ranks", "gpus", whole(func(r *Row) *int { return &r.Ranks }), func(r *Row) string { return digits(int64(r.Ranks)) }},
	{"bytes", "", setBytes, func(r *Row) string { return digits(r.Bytes) }},
	{"library", "", word(func(r *Row) *string { return &r.Library }), func(r *Row) string { return r.Library }},
	{"version", "", word(func(r *Row) *string { return &r.Version }), func(r *Row) string { return r.Version }},
	conditionColumn(System, "", nil),
	conditionColumn(Nodes, "", wholeNumber),
	conditionColumn(DType, "", dtypeName),
	conditionColumn(Placement, "", oneOf("in", "out")),
	conditionColumn(Mode, "", modeName),
	conditionColumn(Registered, "", registeredName),
	conditionColumn(SMs, "channels", wholeNumber),
	conditionColumn(Threads, "", wholeNumber),
	conditionColumn(Kernel, "algorithm", nil),
	conditionColumn(Protocol, "", protocolName),
	conditionColumn(Traffic, "", nil),
	conditionColumn(Evidence, "", oneOf("measured", "simulated")),
	{"time_us", "", micros(1, func(r *Row) *float64 { return &r.TimeUS }), func(r *Row) string { return exact(r.TimeUS) }},
	{"low_us", "", micros(1, func(r *Row) *float64 { return &r.LowUS }), func(r *Row) string { return exact(r.LowUS) }},
	{"high_us", "", micros(1, func(r *Row) *float64 { return &r.HighUS }), func(r *Row) string { return exact(r.HighUS) }},
	{"runs", "", whole(func(r *Row) *int { return &r.Runs }), func(r *Row) string { return digits(int64(r.Runs)) }},
	{"source", "", word(func(r *Row) *string { return &r.Source }), func(r *Row) string { return r.Source }},
	{"count", "", setBytes, nil},
	{"time_ms", "", micros(1e3, func(r *Row) *float64 { return &r.TimeUS }), nil},
	{"time_s", "", micros(1e6, func(r *Row) *float64 { return &r.TimeUS }), nil},
}

func exact(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func digits(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Header lists the columns that rows are written in.
func Header() (names []string) {
	for _, c := range columns {
		if c.get != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// Fields is the row in the columns of Header; "": not stated.
func (r *Row) Fields() (fields []string) {
	for _, c := range columns {
		if c.get != nil {
			fields = append(fields, c.get(r))
		}
	}
	return fields
}

// columnOf returns the column of a name; the error names the nearest.
func columnOf(name string) (*column, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	var names []string
	for i := range columns {
		if c := &columns[i]; name != "" && (c.name == name || c.also == name) {
			return c, nil
		}
		names = append(names, columns[i].name)
	}
	return nil, fmt.Errorf("unknown column %.40q: want %s%s", name, strings.Join(names, ", "), suggest.DidYouMean(name, names))
}

// conditionColumn is the column of a condition, also under another name, whose values normal
// checks and spells in one way; nil: any word.
func conditionColumn(c Condition, also string, normal func(string) (string, error)) column {
	return column{c.String(), also, func(r *Row, v string) error {
		v, err := plain(v)
		if err == nil && normal != nil && v != "" {
			v, err = normal(v)
		}
		r.Conditions[c] = v
		return err
	}, func(r *Row) string { return r.Conditions[c] }}
}

// maxWord is the longest text of a field in bytes, and MaxWhole the largest of its numbers.
const (
	maxWord  = 200
	MaxWhole = 1 << 24
)

// formula are the characters that begin a spreadsheet's formula, or a comment.
const formula = "=+-@#"

// plain returns a field without blanks around it. It refuses what is no plain text, and what
// a spreadsheet would take for a formula.
func plain(v string) (string, error) {
	v = strings.TrimSpace(v)
	switch {
	case len(v) > maxWord:
		return "", fmt.Errorf("%.20q… has %d bytes: want at most %d", v, len(v), maxWord)
	case !utf8.ValidString(v):
		return "", fmt.Errorf("%.40q: want text in UTF-8", v)
	case strings.ContainsFunc(v, func(c rune) bool { return !unicode.IsPrint(c) }):
		return "", fmt.Errorf("%.40q: want text that can be printed", v)
	case strings.IndexAny(v, formula) == 0:
		return "", fmt.Errorf("%.40q: want a word that begins with a letter or a digit", v)
	}
	return v, nil
}

// Word is any text as a field of a row.
func Word(text string) string { return safeWord(text, maxWord) }

// safeWord makes of any text one that plain takes, of at most a number of bytes.
func safeWord(v string, most int) string {
	v = strings.TrimSpace(strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(v, "?")))
	if strings.IndexAny(v, formula) == 0 {
		v = "'" + v
	}
	if len(v) > most {
		v = strings.ToValidUTF8(v[:most-len("…")], "") + "…"
	}
	return v
}

func word(of func(*Row) *string) func(*Row, string) error {
	return func(r *Row, v string) (err error) {
		*of(r), err = plain(v)
		return err
	}
}

func wholeNumber(v string) (string, error) {
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n < 1 || n > MaxWhole {
		return "", fmt.Errorf("%.40q: want a whole number from 1 to %d", v, MaxWhole)
	}
	return strconv.FormatUint(n, 10), nil
}

func whole(of func(*Row) *int) func(*Row, string) error {
	return func(r *Row, v string) error {
		text, err := wholeNumber(strings.TrimSpace(v))
		if err == nil {
			*of(r), err = strconv.Atoi(text)
		}
		return err
	}
}

// micros reads a time in a unit, given in microseconds.
func micros(unit float64, of func(*Row) *float64) func(*Row, string) error {
	return func(r *Row, v string) error {
		us, err := units.ParseDecimal(strings.TrimSpace(v))
		if err != nil {
			return err
		}
		*of(r) = us * unit
		return units.CheckTimeUS(us * unit)
	}
}

func oneOf(words ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		if v = strings.ToLower(v); !slices.Contains(words, v) {
			return "", fmt.Errorf("%.40q: want %s", v, strings.Join(words, " or "))
		}
		return v, nil
	}
}

// registeredName spells the states of buffers in one way: of files that tell two, yes is window.
func registeredName(v string) (string, error) {
	switch v = strings.ToLower(v); v {
	case "yes":
		return "window", nil
	case "no":
		return "none", nil
	}
	return oneOf("none", "user", "window")(v)
}

// protocolName spells NCCL's protocols in one way.
func protocolName(v string) (string, error) {
	for _, name := range topologies.ProtocolNames() {
		if strings.EqualFold(name, v) {
			return name, nil
		}
	}
	return "", fmt.Errorf("%.40q: want %s", v, strings.Join(topologies.ProtocolNames(), ", "))
}

// modeName is eager or graph where a mode ends in that word.
func modeName(v string) (string, error) {
	for _, mode := range []string{"eager", "graph"} {
		if strings.HasSuffix(strings.ToLower(v), mode) {
			return mode, nil
		}
	}
	return v, nil
}

// setBytes reads a size, or a number of elements, which readCSV turns into bytes.
func setBytes(r *Row, v string) error {
	n, err := units.ParseBytes(strings.TrimSpace(v))
	if err == nil {
		err = units.CheckBytes(int64(n))
	}
	r.Bytes = int64(n)
	return err
}

func setCollective(r *Row, v string) error {
	if r.Collective = collective.Anyone.Collective(v); r.Collective == "" {
		names := collective.Names()
		return fmt.Errorf("unknown collective %.40q: want one of %s%s", v, strings.Join(names, ", "), suggest.DidYouMean(collective.Joined(v), names))
	}
	return nil
}

// Finish completes a row, whatever filled its fields: each becomes what its column would read,
// so that a table of it can be read, and a single time is its own interval. The error names a
// field that its column refuses, or that is missing.
func (r *Row) Finish() error {
	for i := range columns {
		c := &columns[i]
		if c.get == nil {
			continue
		}
		if v := c.get(r); v != "" {
			if err := c.set(r, v); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	var lacking, stated []string
	for _, need := range []struct {
		lacks bool
		what  string
	}{
		{r.Collective == "", "collective"}, {r.Ranks == 0, "ranks"}, {r.Bytes == 0, "bytes"},
		{r.TimeUS == 0, "time_us"}, {r.Library == "", "library"},
	} {
		if need.lacks {
			lacking, stated = append(lacking, need.what), append(stated, ","+need.what+"=VALUE")
		}
	}
	switch len(lacking) {
	case 0:
	case 1:
		return fmt.Errorf("%s is not stated: want it in the file, or beside its name, as in --library NAME=FILE%s", lacking[0], stated[0])
	default:
		return fmt.Errorf("%s are not stated: want them in the file, or beside its name, as in --library NAME=FILE%s", strings.Join(lacking, ", "), strings.Join(stated, ""))
	}
	if r.LowUS == 0 {
		r.LowUS = r.TimeUS
	}
	if r.HighUS == 0 {
		r.HighUS = r.TimeUS
	}
	r.Runs = max(r.Runs, 1)
	if r.LowUS > r.TimeUS || r.HighUS < r.TimeUS {
		return fmt.Errorf("time_us %g is not between low_us %g and high_us %g", r.TimeUS, r.LowUS, r.HighUS)
	}
	if collective.Reduces(r.Collective) { // so that 16-bit floats of both kinds meet
		r.width = collective.MeasuredBytes(r.Conditions[DType])
	}
	if r.Conditions[Evidence] == "" {
		r.Conditions[Evidence] = "measured"
	}
	return nil
}

// Interval is that of the time: of a single run, what the noise makes of it, and of several
// at least that.
func (r *Row) Interval() (low, high float64) {
	half := math.Sqrt(1 + r.Noise)
	return min(r.LowUS, r.TimeUS/half), max(r.HighUS, r.TimeUS*half)
}

// ParseConditions reads conditions' names.
func ParseConditions(names []string) (all []Condition, err error) {
	for _, name := range names {
		i := slices.Index(ConditionNames(), name)
		if i < 0 {
			return nil, fmt.Errorf("unknown condition %.40q: want %s", name, strings.Join(ConditionNames(), ", "))
		}
		all = append(all, Condition(i))
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// ParseCondition spells a condition's value as rows have it; "" stays.
func ParseCondition(c Condition, value string) (string, error) {
	column, err := columnOf(c.String())
	if err != nil {
		return "", err
	}
	var r Row
	err = column.set(&r, value)
	return r.Conditions[c], err
}
