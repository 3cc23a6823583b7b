package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// yesNo formats a boolean for a table.
func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// keyValues formats a map as "a=1 b=2", sorted by key.
func keyValues(m map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+"="+m[k])
	}
	return strings.Join(all, " ")
}

// firstLine returns the first line of an executor's message, without the words
// that introduce the lines after it.
func firstLine(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return strings.TrimSuffix(first, "; its last output:")
}

// oneLine replaces every run of blanks and line ends by one space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// short formats a number without an exponent and without trailing zeros.
func short(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// fixed formats a measured number with two decimals, as nccl-tests does.
func fixed(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// exact formats a number for programs, without loss.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// seconds formats a time in seconds to the millisecond.
func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }

// signedPercent formats the distance of a ratio from 1 in percent: 1.031 is "+3.1".
func signedPercent(ratio float64) string {
	text := fmt.Sprintf("%+.1f", (ratio-1)*100)
	if text == "-0.0" {
		return "+0.0"
	}
	return text
}

// ranges formats rising numbers briefly: 0-7,9.
func ranges(ns []int) string {
	var all []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if j == i {
			all = append(all, strconv.Itoa(ns[i]))
		} else {
			all = append(all, strconv.Itoa(ns[i])+"-"+strconv.Itoa(ns[j]))
		}
		i = j + 1
	}
	return strings.Join(all, ",")
}
