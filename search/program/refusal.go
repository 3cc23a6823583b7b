package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lazyregexp"
)

// Reason is why a candidate was refused; its text is a key of the tables.
type Reason string

// The reasons, roughly in the order of the checks; doc.go names the files that make them.
// A search has others while it tunes: see autotune/candidates.go.
const (
	NotApplicable Reason = "not-applicable" // by its own word the family makes no sense on this system
	NoHole        Reason = "no-routing"     // no value for a hole exists, or none was found
	NoLink        Reason = "no-link"        // a transfer between ranks that are not linked
	BadProgram    Reason = "bad-program"    // stale or uninitialised chunks, or a wrong result
	TooLarge      Reason = "too-large"      // more operations than a search handles
	NoMemory      Reason = "memory"         // more memory than the command may use
	Outranked     Reason = "outranked"      // on a large system, less promising than those that are tried
	Threadblocks  Reason = "threadblocks"   // more than the GPU has SMs, though all must be resident
	Uncompiled    Reason = "compiler-limit" // over a limit of the compiler, such as channels
	Slots         Reason = "fifo-slots"     // sends get further ahead of receives than any protocol allows
	Unverified    Reason = "unverified"     // the verifier found the IR wrong
	Runtime       Reason = "runtime"        // the runtime asked for would not load or use it
	Duplicate     Reason = "duplicate"      // the same program as another candidate
)

// Refusal is a candidate that was not pursued, and why.
type Refusal struct {
	Candidate string // as -v prints it: ring channels=4 ×24
	Reason    Reason
	Detail    string
}

// String returns the line that -v prints: candidate, reason and detail.
func (r Refusal) String() string {
	return ShortLists(fmt.Sprintf("%s: %s: %s", r.Candidate, r.Reason, r.Detail))
}

// remedies are what to try where every candidate was refused, by reason.
var remedies = map[Reason]string{
	NotApplicable: "other families (no --family), or template show FAMILY for what it needs",
	NoHole:        "other families (no --family)",
	NoLink:        "a family that goes over other ranks, such as routed",
	BadProgram:    "template check, which names the line",
	TooLarge:      "fewer nodes, or --instances 1",
	NoMemory:      "a larger --memory",
	Threadblocks:  "--instances 1",
	Uncompiled:    "--instances 1",
	Slots:         "another --protocol",
	Runtime:       "another --runtime",
}

// Remedy is what to try where all candidates were refused for the reason; empty: nothing is known.
func (r Reason) Remedy() string { return remedies[r] }

// longList is a list of more numbers than a line should have, as of ranks.
var longList = lazyregexp.New(`\d+(?:[,;]\d+){31,}`)

// ShortLists leaves the first numbers of long lists in a text for people, and counts the
// others.
func ShortLists(text string) string {
	return longList().ReplaceAllStringFunc(text, func(list string) string {
		const shown = 8
		numbers := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ';' })
		return fmt.Sprintf("%s,… (%d more)", strings.Join(numbers[:shown], ","), len(numbers)-shown)
	})
}

// ByReason counts refusals for the tables.
func ByReason(refusals []Refusal) map[string]int {
	n := map[string]int{}
	for _, r := range refusals {
		n[string(r.Reason)]++
	}
	return n
}

// Reasons lists the reasons of a count, most frequent first, then by name.
func Reasons(count map[string]int) []string {
	return slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
}

// Error makes a refusal the error of the step that found it.
func (r *Refusal) Error() string { return r.String() }
