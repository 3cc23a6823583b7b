package compiler

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/colltune/colltune/compiler/ir"
)

func count(word string, least, most int32) (int32, error) {
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < int64(least) || n > int64(most) || word[0] == '+' {
		return 0, fmt.Errorf("%.20q: want a number of %d to %d", word, least, most)
	}
	return int32(n), nil
}

// fields reads a line word by word. The first error sticks.
type fields struct {
	words []string
	err   error
}

func (f *fields) more() bool { return f.err == nil && len(f.words) > 0 }

// word takes the next word, which must exist.
func (f *fields) word() string {
	if f.err != nil || len(f.words) == 0 {
		f.fail(errors.New("the line ends too early"))
		return ""
	}
	w := f.words[0]
	f.words = f.words[1:]
	return w
}

func (f *fields) fail(err error) {
	if f.err == nil && err != nil {
		f.err = err
	}
}

func (f *fields) expect(word string) {
	if w := f.word(); w != word {
		f.fail(fmt.Errorf("%.20q: want %s", w, word))
	}
}

func (f *fields) count(least, most int) int32 {
	n, err := count(f.word(), int32(least), int32(min(most, math.MaxInt32)))
	f.fail(err)
	return n
}

// counts takes all the numbers that come next.
func (f *fields) counts(most int) (list []int32) {
	for f.more() && f.words[0][0] >= '0' && f.words[0][0] <= '9' {
		list = append(list, f.count(0, most))
	}
	return list
}

func (f *fields) place() chunks {
	at, n, err := ir.ParsePlace(f.word())
	f.fail(err)
	if n < 1 {
		f.fail(errors.New("a place of no chunks"))
	}
	return chunks{at.Buf, at.Off, n, max(at.Stride, 1)}
}

func (f *fields) channel(word string) int32 {
	if word == "-" {
		return none
	}
	n, err := count(word, 0, math.MaxInt16)
	f.fail(err)
	return n
}
