package results

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

// ownTrial is an ok trial of a native algorithm.
func ownTrial(algorithm, protocol string, settings map[string]string, channels int, bytes int64, us float64) Trial {
	spec := collective.Spec{Name: "allreduce", Ranks: 4, Chunks: 1, InPlace: true}
	hash := NativeHash(algorithm, settings, spec)
	parameters := map[string]any{}
	for k, v := range settings {
		parameters[k] = v
	}
	return Trial{
		Bytes: bytes, Placement: "in", Algorithm: algorithm, Source: SourceNative, Parameters: parameters,
		Channels: channels, Instances: 1, Protocol: protocol, Program: hash, LoopChunks: 1, MaxCount: 1, Granularity: 4,
		Fingerprint: testExecutor.Hash(), Outcome: OK, TimesUS: []float64{us},
	}
}

// A program's trial still needs its protocol, its tile and its file.
func TestOnlyALibrarysTrialLacksAProgram(t *testing.T) {
	c := newCampaign(t, testPlan())
	good := ownTrial("auto", ProtocolAuto, nil, 0, 1024, 5)
	for name, change := range map[string]func(*Trial){
		"source":   func(t *Trial) { t.Source = "template" },
		"protocol": func(t *Trial) { t.Source, t.TileBytes = "template", 4096 },
		"file":     func(t *Trial) { t.Source, t.TileBytes, t.Protocol = "template", 4096, "LL" },
		"tile":     func(t *Trial) { t.TileBytes = -1 },
		"unknown":  func(t *Trial) { t.Protocol = "fast" },
	} {
		bad := good
		change(&bad)
		if err := c.Append(bad); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	appendAll(t, c, good)
}
