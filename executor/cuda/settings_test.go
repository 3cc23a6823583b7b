package cuda

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestSettings(t *testing.T) {
	for _, tc := range []struct {
		given string
		want  settings
		says  string
	}{
		{"", settings{watchdog: 20 * time.Second, compiler: byEither}, ""},
		{"devices=2 watchdog=3s graph=true threadblocks=true compiler=nvrtc", settings{devices: 2, watchdog: 3 * time.Second, graph: true, blocks: true, compiler: byNVRTC}, ""},
		{"graph=false compiler=ptx watchdog=1h", settings{watchdog: time.Hour, compiler: byDriver}, ""},
		{"devices=0", settings{}, `cuda: devices "0": want a number of GPUs, 1 or more`},
		{"devices=all", settings{}, `cuda: devices "all": want a number`},
		{"watchdog=3", settings{}, `cuda: watchdog "3": want a time from 50ms to 1h0m0s`},
		{"watchdog=1ms", settings{}, `cuda: watchdog "1ms"`},
		{"watchdog=61m", settings{}, `cuda: watchdog "61m"`},
		{"graph=maybe", settings{}, `cuda: graph "maybe": want true or false`},
		{"threadblocks=2", settings{}, `cuda: threadblocks "2": want true or false`},
		{"compiler=gcc", settings{}, `cuda: compiler "gcc": want auto, ptx or nvrtc`},
	} {
		given := map[string]string{}
		for _, one := range strings.Fields(tc.given) {
			name, value, _ := strings.Cut(one, "=")
			given[name] = value
		}
		s, err := readSettings(func(name string) string { return given[name] })
		switch {
		case tc.says == "" && (err != nil || s != tc.want):
			t.Errorf("%q: %+v, %v", tc.given, s, err)
		case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
			t.Errorf("%q: got %v, want an error that says %q", tc.given, err, tc.says)
		}
		for name := range given {
			if !strings.Contains(strings.Join(registered.Names, " "), name) {
				t.Errorf("the host does not let %s pass", name)
			}
		}
	}
}

// TestDevicesOfTheEnvironment has the variable say what the settings don't.
func TestDevicesOfTheEnvironment(t *testing.T) {
	t.Setenv(devicesVariable, "3")
	if s, err := readSettings(func(string) string { return "" }); err != nil || s.devices != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := readSettings(func(name string) string { return map[string]string{"devices": "1"}[name] }); err != nil || s.devices != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	t.Setenv(devicesVariable, "none")
	if _, err := New().Describe(context.Background()); err == nil || !strings.Contains(err.Error(), devicesVariable+"=none: want a number of GPUs") {
		t.Errorf("got %v", err)
	}
}
