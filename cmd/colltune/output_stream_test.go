package main

import (
	"strings"
	"testing"
)

func TestLegible(t *testing.T) {
	long := strings.Repeat("a", maxWord)
	for text, want := range map[string]string{
		"a.toml:3: nodes: want 1":     "a.toml:3: nodes: want 1",
		"two\nlines\tand a tab":       "two\nlines\tand a tab",
		"größe 1 µs × 2":              "größe 1 µs × 2",
		"\x1b[31mred\x07\rover":       `\u001b[31mred\u0007\rover`,
		"half a rune: \xe2\x82":       `half a rune: \xe2\x82`,
		"next line: \u0085":           `next line: \u0085`,
		"turned \u202eround":          `turned \u202eround`,
		"key " + long + " is no key":  "key " + long + " is no key",
		"key " + long + "bcd is none": "key " + long + "… (3 bytes more) is none",
		long + long:                   long + "… (1000 bytes more)",
	} {
		if got := sanitize(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
