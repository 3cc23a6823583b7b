package host

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/colltune/colltune/executor"
)

// Identity holds an executor to its first description: measurements with other devices or
// other limits would not compare. The zero value is ready to use, from any goroutine.
type Identity struct {
	mu    sync.Mutex
	first *executor.Description
}

// same returns an error that names the first field in which a description differs from
// the first one.
func (i *Identity) same(d executor.Description) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.first == nil {
		i.first = &d
		return nil
	}
	now, before := reflect.ValueOf(d), reflect.ValueOf(*i.first)
	for f := range now.NumField() {
		if a, b := now.Field(f).Interface(), before.Field(f).Interface(); !reflect.DeepEqual(a, b) {
			name, _, _ := strings.Cut(now.Type().Field(f).Tag.Get("json"), ",")
			return fmt.Errorf("%s %.200s, before %.200s", name, fmt.Sprint(a), fmt.Sprint(b))
		}
	}
	return nil
}
