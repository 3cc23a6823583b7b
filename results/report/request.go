package report

import (
	"bytes"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/draw"
)

// detail is a line about the request or about a winner.
type detail struct {
	Name, Value string
	Code        bool // in the font of code
}

// maxDetails limits the lines for a fingerprint, or for the files of a plan.
const maxDetails = 40

// requestDetails lists the details of a plan and of its executor, if that is known.
func requestDetails(plan results.Plan, executor results.Executor, known, simulated bool) []detail {
	add := []detail{
		{"command", clip(plan.Command(), 4000), true},
		{"topology", fmt.Sprintf("%s, %s, %s, graph %s", clip(plan.Topology.Name, nameRoom), units.Count(plan.Topology.Nodes, "node"), units.Count(plan.Topology.Ranks, "rank"), clip(results.ShortHash(plan.Topology.Hash), nameRoom)), false},
		{"collective", collectiveText(plan), false},
		{"sizes", sizesText(plan), false},
		{"iterations", fmt.Sprintf("%d timed, after %d to warm up", plan.Iters, plan.Warmup), false},
		{"seed", strconv.FormatInt(plan.Seed, 10), false},
	}
	for i, f := range plan.Files {
		if i == maxDetails {
			break
		}
		add = append(add, detail{clip(f.Kind, wordRoom), clip(f.Name, nameRoom), false})
	}
	if !known {
		return append(add, detail{"executor", clip(plan.Executor, nameRoom) + ", nothing run yet", false})
	}
	kind := "its times are measured"
	if simulated {
		kind = "a simulator: its times are computed from a model of the system"
	}
	if executor.Deterministic {
		kind += ", and never vary"
	}
	add = append(add, detail{"executor", fmt.Sprintf("%s, version %s; %s", clip(executor.Name, nameRoom), clip(executor.Version, nameRoom), kind), false})
	var prints []string
	for i, name := range slices.Sorted(maps.Keys(executor.Fingerprint)) {
		if i == maxDetails {
			prints = append(prints, "…")
			break
		}
		prints = append(prints, clip(name, wordRoom)+" "+clip(executor.Fingerprint[name], nameRoom))
	}
	if len(prints) > 0 {
		add = append(add, detail{"fingerprint", strings.Join(prints, "; "), false})
	}
	return append(add, detail{"colltune", clip(plan.Version, nameRoom), false})
}

// collectiveText names the collective with its type, operation, root and placement.
func collectiveText(plan results.Plan) string {
	s := fmt.Sprintf("%s, %s, %s", clip(plan.Collective, nameRoom), clip(plan.DType, wordRoom), clip(plan.Op, wordRoom))
	if plan.Root != 0 {
		s += fmt.Sprintf(", root %d", plan.Root)
	}
	if plan.Placement == "both" {
		return s + ", in place and out of place"
	}
	return s + ", " + results.PlacementText(plan.Placement)
}

func sizesText(plan results.Plan) string {
	sizes := sizesOf(plan)
	if len(sizes) == 1 {
		return sizeText(sizes[0]) + " bytes"
	}
	return fmt.Sprintf("%d, from %s to %s bytes", len(sizes), sizeText(sizes[0]), sizeText(sizes[len(sizes)-1]))
}

// sizesOf are a plan's sizes, rising.
func sizesOf(plan results.Plan) []int64 {
	return slices.Compact(slices.Sorted(slices.Values(plan.Sizes)))
}

// system is a picture of the topology.
type system struct {
	Picture template.HTML // made by draw.SVG, which escapes names
	Text    string        // where a picture would be too large
	Missing string        // why there is neither
}

// The largest picture, and the longest text to take its place.
const (
	mostPicture = 96 << 10
	mostText    = 8 << 10
	mostEdges   = 20_000
)

// systemOf draws the topology of a plan, provided that this build still reads the
// plan's text as the same graph.
func systemOf(plan results.Plan) system {
	t, err := topologyOf(plan)
	switch {
	case err != nil:
		return system{Missing: "It is not drawn: this version of colltune does not read it as the campaign's."}
	case len(t.Edges) > mostEdges:
		return system{Missing: fmt.Sprintf("It is not drawn: it has %d links.", len(t.Edges))}
	}
	var b bytes.Buffer
	if err := draw.SVG(&b, t); err == nil && b.Len() <= mostPicture {
		return system{Picture: template.HTML(b.String())}
	}
	b.Reset()
	if err := draw.Text(&b, t); err != nil {
		return system{Missing: "It is not drawn."}
	}
	return system{Text: clip(b.String(), mostText)}
}

// generated matches the name of a generated topology: ring:8@50GB/s.
var generated = lazyregexp.New(`^[a-z]+:[0-9]`)

// topologyOf reads the topology that a campaign keeps. It opens no file: a text
// that is only a name must be in the catalogue or a generator's.
func topologyOf(plan results.Plan) (*topologies.Topology, error) {
	o := topologies.Options{Nodes: plan.Topology.Nodes}
	for _, f := range plan.Flags {
		if f.Name != "gpus" {
			continue
		}
		for word := range strings.SplitSeq(f.Value, ",") {
			n, err := strconv.Atoi(word)
			if err != nil {
				return nil, err
			}
			o.GPUs = append(o.GPUs, n)
		}
	}
	text := plan.Topology.Text
	var t *topologies.Topology
	var err error
	switch {
	case strings.Contains(text, "\n"):
		t, err = topologies.Read("campaign.toml", []byte(text), o)
	case generated().MatchString(text) || slices.Contains(topologies.Names(), text):
		t, err = topologies.Resolve(text, o)
	default:
		err = fmt.Errorf("topology %.80q: neither a file's text nor a known name", text)
	}
	if err == nil && t.Hash() != plan.Topology.Hash {
		err = fmt.Errorf("topology %.80q: another graph than the campaign's", plan.Topology.Name)
	}
	return t, err
}
