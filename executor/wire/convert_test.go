package wire

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/topologies"
)

// filled sets every field of a value, whatever its type: a field that is not sent arrives
// as zero.
func filled(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			filled(t, v.Field(i))
		}
	case reflect.String:
		v.SetString(rapid.StringN(1, 8, 20).Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(rapid.Int32Range(1, 1<<30).Draw(t, "int")))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(1, 1e9).Draw(t, "float"))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(1, 3).Draw(t, "length"), 3))
		for i := range v.Len() {
			filled(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			filled(t, key)
			filled(t, value)
			v.SetMapIndex(key, value)
		}
	default:
		t.Fatalf("a field of kind %s: say how it is filled", v.Kind())
	}
}

func TestDescriptionsTravelWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d executor.Description
		filled(t, reflect.ValueOf(&d).Elem())
		var m protocol.Description
		if b, err := proto.Marshal(EncodeDescription(d)); err != nil || proto.Unmarshal(b, &m) != nil {
			t.Fatal(err)
		}
		if got := DecodeDescription(&m); !reflect.DeepEqual(got, d) {
			t.Fatalf("sent %+v, received %+v", d, got)
		}
	})
}

func TestNativeTrialsTravelWhole(t *testing.T) {
	sent := executor.Trial{
		Native:     &executor.Native{Algorithm: "ring", Settings: map[string]string{"channels": "4"}},
		Collective: collective.Spec{Name: "gatherv", Ranks: 3, Chunks: 1, Root: 2, InPlace: true, Counts: []int{1, 2, 3}},
		Bytes:      24, Protocol: topologies.LL128, TileBytes: 4096, DType: "f16", Op: "max", Iters: 7, Warmup: 2, Seed: 9, Repeat: 3, Before: 41,
	}
	got, err := DecodeTrial(EncodeTrial(sent, "unused", "topology"))
	if err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("sent %+v, received %+v, %v", sent, got, err)
	}
	for _, r := range []*protocol.RunRequest{
		{Protocol: "Fast"},
		{Protocol: "LL", Native: &protocol.Native{}, Program: "x"},
		{Protocol: "LL", Native: &protocol.Native{}},
	} {
		if got, err := DecodeTrial(r); err == nil {
			t.Errorf("%v was taken for %+v", r, got)
		}
	}
}
