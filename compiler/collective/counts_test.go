package collective

import (
	"slices"
	"strings"
	"testing"
)

func TestParseCounts(t *testing.T) {
	got, err := ParseCounts("c", []byte("\ufeff# what they have\n4096, 0\t8192 # two\r\n\n4096\n"))
	if err != nil || !slices.Equal(got, []int{1, 0, 2, 1}) {
		t.Errorf("counts %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                         "c: no counts in it",
		"# nothing\n":              "c: no counts in it",
		"1\n2 -3":                  `c:2: count "-3": want a number from 0`,
		"1.5":                      `c:1: count "1.5"`,
		"3\n3000000000\n":          "c:2: count 3000000000, 1000000000 with what divides them all taken out: want at most 67108864",
		"1\n3000000000\n":          "c:2: count 3000000000: want at most 67108864",
		"2 100000000\n100000000":   "c:2: with count 100000000, 50000000 with what divides them all taken out, there are 100000001 in all: want at most 67108864",
		"\n\n99999999999999999999": `c:3: count "99999999999999999999"`,
	} {
		if _, err := ParseCounts("c", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if text := FormatCounts([]int{1, 2, 3, 4}, 2); text != "1 2\n3 4\n" {
		t.Errorf("written as %q", text)
	}
}

func FuzzParseCounts(f *testing.F) {
	for _, s := range []string{"1 2 3", "4,4\n8", "# x\n0 0", "-1", "1e3", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		counts, err := ParseCounts("c", text)
		if err != nil {
			return
		}
		again, err := ParseCounts("c", []byte(FormatCounts(counts, 3)))
		if err != nil || !slices.Equal(counts, again) {
			t.Errorf("%v written and read is %v, %v", counts, again, err)
		}
		if _, err := New(Spec{Name: "allgatherv", Ranks: len(counts), Chunks: 1, Counts: counts}); err == nil && slices.Max(counts) == 0 {
			t.Error("counts of nothing were taken")
		}
	})
}
