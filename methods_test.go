package colltune

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// mostMethods is how many methods a type may have in the rooms that grew one object each before.
const mostMethods = 40

var method = regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?(\w+)`)

// TestNoTypeDoesEverything holds types to a number of methods.
func TestNoTypeDoesEverything(t *testing.T) {
	checked := 0
	for _, pattern := range []string{"search/*.go", "search/*/*.go", "search/*/*/*.go", "executor/measured/*.go", "autotune/*.go", "autotune/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{} // by package and type
		for _, file := range files {
			if test, _ := filepath.Match("*_test.go", filepath.Base(file)); test {
				continue
			}
			for _, m := range method.FindAllStringSubmatch(read(t, file), -1) {
				count[filepath.Dir(file)+"."+m[1]]++
			}
		}
		for _, name := range slices.Sorted(maps.Keys(count)) {
			checked++
			if n := count[name]; n > mostMethods {
				t.Errorf("%s has %d methods: want at most %d, and types of their own for the rest", name, n, mostMethods)
			}
		}
	}
	if checked < 50 {
		t.Errorf("%d types with methods: too few to be all", checked)
	}
}
