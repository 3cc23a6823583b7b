package main

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// Each flag that narrows the candidates sets its option and no other.
func TestOptionsOf(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want search.Options
	}{
		{nil, search.Options{}},
		{[]string{"--family", "ring,all-pairs,ring"}, search.Options{Families: []string{"all-pairs", "ring"}}},
		{[]string{"--exclude", "ring", "--exclude", "bruck"}, search.Options{Exclude: []string{"bruck", "ring"}}},
		{[]string{"--channels", "3"}, search.Options{Channels: 3}},
		{[]string{"--instances", "5"}, search.Options{Instances: 5}},
		{[]string{"--protocol", "ll128"}, search.Options{Protocols: []topologies.Proto{topologies.LL128}}},
		{[]string{"--max-sms", "16"}, search.Options{MaxSMs: 16}},
		{[]string{"--tile-bytes", "64K"}, search.Options{TileBytes: 64 << 10}},
		{[]string{"--runtime", "rccl"}, search.Options{Runtime: "rccl"}},
		{[]string{"--registered", "window"}, search.Options{Registered: new(nccl.Window)}},
		{[]string{"--strategy", "exhaustive"}, search.Options{Strategy: "exhaustive"}},
		{[]string{"--solver", "pb"}, search.Options{Solver: "pb"}},
	} {
		got, want, plain := reflect.ValueOf(optionsFrom(t, tc.args...)), reflect.ValueOf(tc.want), reflect.ValueOf(optionsFrom(t))
		for i := range got.NumField() {
			field := got.Type().Field(i)
			wanted := want.Field(i)
			if wanted.IsZero() {
				wanted = plain.Field(i) // as without the flag: empty, or its default
			}
			if field.Type.Kind() == reflect.Func || !field.IsExported() {
				continue
			}
			if diff := cmp.Diff(wanted.Interface(), got.Field(i).Interface()); diff != "" {
				t.Errorf("%q: %s: -want +got\n%s", tc.args, field.Name, diff)
			}
		}
	}
}

// optionsFrom are the options of a search with some flags.
func optionsFrom(t *testing.T, args ...string) search.Options {
	t.Helper()
	cmd := searchCommand()
	cmd.SetContext(t.Context())
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	o, err := optionsOf(cmd, nil)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return o
}

func TestFolderName(t *testing.T) {
	for name, want := range map[string]string{
		"dgx-a100-2x-allreduce": "dgx-a100-2x-allreduce",
		"ring:8@50GB/s,0.7us":   "ring_8@50GB_s,0.7us",
		"AZaz09-_.,@":           "AZaz09-_.,@",
		"/:[`{^ é":              "________",
	} {
		if got := folderName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
