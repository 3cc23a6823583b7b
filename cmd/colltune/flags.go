package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/units"
)

// choice is the value of a flag that takes one of a few words, in any case.
type choice struct {
	value string
	of    []string
	also  map[string]string // other spellings, in lower case, of some values
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "string" }

func (c *choice) Set(s string) error {
	for _, v := range c.of {
		if strings.EqualFold(s, v) {
			c.value = v
			return nil
		}
	}
	if v, ok := c.also[strings.ToLower(s)]; ok {
		c.value = v
		return nil
	}
	return fmt.Errorf("want one of %s%s", strings.Join(c.of, ", "), suggest.DidYouMean(s, c.of))
}

// choiceFlag adds a flag that takes one of a few words. Help and completion list
// them. value is the default.
func choiceFlag(cmd *cobra.Command, name, short, value string, of []string, usage string) {
	cmd.Flags().VarP(&choice{value: value, of: of}, name, short, usage+": "+strings.Join(of, ", "))
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
}

// typeWants describes the values of pflag's own types, for errors: pflag quotes only
// those of Go's parsers.
var typeWants = map[string]string{
	"bool":     "true or false",
	"duration": `a time such as "90s" or "2h"`,
	"int":      "a whole number",
	"int64":    "a whole number",
	"intSlice": "whole numbers with commas between, such as 0,3,5",
}

// valueError replaces a Go parser's message by the values that the flag accepts.
func valueError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) || typeWants[bad.GetFlag().Value.Type()] == "" {
		return err
	}
	where := strings.TrimSuffix(err.Error(), bad.Unwrap().Error())
	return fmt.Errorf("%swant %s", where, typeWants[bad.GetFlag().Value.Type()])
}

// size is the value of a flag that takes a number of bytes, such as 64K.
type size struct{ value units.Bytes }

func (s *size) String() string { return s.value.String() }
func (s *size) Type() string   { return "size" }

func (s *size) Set(text string) error {
	v, err := units.ParseBytes(text)
	if err != nil {
		return err
	}
	if v < 1 {
		return fmt.Errorf("want at least 1 byte")
	}
	s.value = v
	return nil
}

// isSet reports whether the command has a flag and it was given: on the command line,
// by the environment or by a settings file.
func isSet(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	return f != nil && f.Changed
}

// sizeOf returns the value of a size flag in bytes; 0 if it is not set and has no
// default.
func sizeOf(cmd *cobra.Command, name string) int64 {
	return int64(cmd.Flags().Lookup(name).Value.(*size).value)
}

func flagValue(cmd *cobra.Command, name string) string {
	return cmd.Flags().Lookup(name).Value.String()
}

// flagError adds to pflag's message the flag that was probably meant, or the values
// that the flag accepts.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var noValue *pflag.ValueRequiredError
	switch {
	case errors.As(err, &noValue):
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	case !errors.As(err, &unknown):
		return usage(valueError(err))
	case cmd.HasSubCommands() && cmd.Flags().NArg() > 0:
		return runGroup(cmd, cmd.Flags().Args()) // the flag belongs to a subcommand that does not exist
	}
	name := strings.TrimLeft(unknown.GetSpecifiedName(), "-")
	if p := cmd.Parent(); p != nil && p.Name() == "topology" && cmd.Flags().Lookup("gpus") != nil && (name == "t" || name == "topology") {
		return usagef("%w: the topology is an argument here: %s TOPOLOGY; see %s --help", err, cmd.CommandPath(), cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return usagef("%w%s; see %s --help", err, suggest.DidYouMean("--"+unknown.GetSpecifiedName(), names), cmd.CommandPath())
}
