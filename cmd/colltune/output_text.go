package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func keyValues(m map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+"="+m[k])
	}
	return strings.Join(all, " ")
}

// firstLine is the first line of a text.
func firstLine(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return strings.TrimSuffix(first, "; its last output:")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// short prints a number without an exponent and without trailing zeros.
func short(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// fixed prints a measured number as nccl-tests does.
func fixed(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }

// signedPercent is by how much a ratio is off 1.
func signedPercent(ratio float64) string {
	text := fmt.Sprintf("%+.1f", (ratio-1)*100)
	if text == "-0.0" {
		return "+0.0"
	}
	return text
}

// ranges prints rising numbers briefly: 0-7,9.
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
