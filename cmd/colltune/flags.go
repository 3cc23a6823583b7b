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

// choice is a flag with a few possible values.
type choice struct {
	value string
	of    []string
	also  map[string]string // other names for some
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

// choiceFlag adds a flag whose values are known, and so are in its help and
// completion.
func choiceFlag(cmd *cobra.Command, name, short, value string, of []string, usage string) {
	cmd.Flags().VarP(&choice{value: value, of: of}, name, short, usage+": "+strings.Join(of, ", "))
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
}

// typeWants says what flags of pflag's own types accept, as pflag itself only quotes
// the errors of Go's parsers.
var typeWants = map[string]string{
	"bool":     "true or false",
	"duration": `a time such as "90s" or "2h"`,
	"int":      "a whole number",
	"int64":    "a whole number",
	"intSlice": "whole numbers with commas between, such as 0,3,5",
}

// valueError says what a flag accepts whose value can't be read.
func valueError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) || typeWants[bad.GetFlag().Value.Type()] == "" {
		return err
	}
	where := strings.TrimSuffix(err.Error(), bad.Unwrap().Error())
	return fmt.Errorf("%swant %s", where, typeWants[bad.GetFlag().Value.Type()])
}

// size is a flag with a number of bytes.
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

func isSet(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	return f != nil && f.Changed
}

// sizeOf is the value of a size flag; 0 if it was not given and has no default.
func sizeOf(cmd *cobra.Command, name string) int64 {
	return int64(cmd.Flags().Lookup(name).Value.(*size).value)
}

func flagValue(cmd *cobra.Command, name string) string {
	return cmd.Flags().Lookup(name).Value.String()
}

// flagError adds to pflag's message which flag was meant, and what it takes.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var alone *pflag.ValueRequiredError
	switch {
	case errors.As(err, &alone):
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
