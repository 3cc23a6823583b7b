package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/units"
)

// A settings file may define executors:
//
//	[executor.cluster]
//	kind     = "cpu"
//	launcher = ["srun", "-u", "-N", "2"]
//	env      = { UCX_TLS = "rc,sm" }
//
// A TOML key cannot be both a table and a value, so beside such tables --executor is
// written executor.default.

type executorTable struct {
	keys  map[string]any
	file  string
	where func(key string) string // file, line and name of a key; of the table if key is empty
}

// configure registers the executor under its name.
func (t executorTable) configure(name string) error {
	c := executor.Configured{From: t.file}
	kind, _ := t.keys["kind"].(string)
	if kind == "" {
		kind = name
	}
	own := executor.SettingsOf(kind).Names
	for _, key := range slices.Sorted(maps.Keys(t.keys)) {
		value := t.keys[key]
		var err error
		if read, ok := executorKeys[key]; ok {
			err = read(&c, value)
		} else if slices.Contains(own, key) {
			err = setOwn(&c, key, value)
		} else {
			known := append(slices.Sorted(maps.Keys(executorKeys)), own...)
			err = fmt.Errorf("unknown key%s: want one of %s", suggest.DidYouMean(key, known), strings.Join(known, ", "))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.where(key), err)
		}
	}
	if err := executor.Configure(name, c); err != nil {
		return fmt.Errorf("%s: %w", t.where(""), err)
	}
	return nil
}

// executorKeys are the keys that every kind of executor accepts.
var executorKeys = map[string]func(*executor.Configured, any) error{
	"kind":     func(c *executor.Configured, v any) error { return setText(&c.Kind, v) },
	"command":  func(c *executor.Configured, v any) error { return setText(&c.Command, v) },
	"launcher": setLauncher,
	"env":      setEnv,
	"memory": func(c *executor.Configured, v any) error {
		text, _ := v.(string)
		n, err := units.ParseBytes(text)
		if err != nil || n < 1 {
			return errors.New(`want a number of bytes as a string, such as "64G"`)
		}
		c.Memory = int64(n)
		return nil
	},
	"start-timeout": func(c *executor.Configured, v any) error {
		text, _ := v.(string)
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return errors.New(`want a time as a string, such as "90s" or "2h"`)
		}
		c.StartTimeout = d
		return nil
	},
}

// setText sets a string that must not be empty.
func setText(to *string, v any) error {
	text, ok := v.(string)
	if !ok || text == "" {
		return errors.New("want a string")
	}
	*to = text
	return nil
}

func setLauncher(c *executor.Configured, v any) error {
	words, _ := v.([]any)
	for _, w := range words {
		text, ok := w.(string)
		if !ok || text == "" && len(c.Launcher) == 0 {
			words = nil
			break
		}
		c.Launcher = append(c.Launcher, text)
	}
	if len(words) == 0 {
		return errors.New(`want a list of words, such as ["mpirun", "-np", "8"]`)
	}
	return nil
}

// setEnv sets environment variables, sorted by name.
func setEnv(c *executor.Configured, v any) error {
	table, ok := v.(map[string]any)
	if !ok {
		return errors.New(`want a table of strings, such as { NCCL_DEBUG = "WARN" }`)
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		text, ok := table[name].(string)
		if !ok || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%s: want a string", name)
		}
		c.Env = append(c.Env, name+"="+text)
	}
	return nil
}

// setOwn sets a key that only this kind of executor accepts.
func setOwn(c *executor.Configured, key string, v any) error {
	values, err := settingValues(v)
	if err != nil || len(values) != 1 {
		return errors.New("want a string, a number or a boolean")
	}
	if c.Settings == nil {
		c.Settings = map[string]string{}
	}
	c.Settings[key] = values[0]
	return nil
}
