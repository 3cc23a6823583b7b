package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results/table"
)

// formats are the values of -o, the same for all commands.
var formats = table.Formats()

// outputFlags adds -o and --out.
func outputFlags(cmd *cobra.Command) {
	choiceFlag(cmd, "format", "o", "table", formats, "how to print the result")
	columnFlags(cmd)
	outFlag(cmd)
}

// outFlag adds --out for a result that otherwise goes to standard output.
func outFlag(cmd *cobra.Command) {
	cmd.Flags().String("out", "", "write the result to `FILE` instead of standard output")
}

// printResult prints a result to standard output or --out, in the format of -o.
// document is its JSON form, without the key "schema"; schema is the NAME in
// colltune.NAME/v1.
func printResult(cmd *cobra.Command, schema string, document any, s sheet) error {
	return writeOut(cmd, func(w io.Writer) error { return writeResult(cmd, w, schema, document, s) })
}

// writeResult writes a result to w, in the format of -o.
func writeResult(cmd *cobra.Command, w io.Writer, schema string, document any, s sheet) error {
	switch l := lookOf(cmd); flagValue(cmd, "format") {
	case "json":
		return writeJSON(w, schema, document)
	case "csv":
		return s.writeCSV(w, l)
	case "md":
		return s.writeMarkdown(w, l)
	default:
		return s.writeTable(w, l)
	}
}

// writeJSON writes a document with "schema" as its first key.
func writeJSON(w io.Writer, schema string, document any) error {
	b, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(string(b), "{")
	if !ok {
		return fmt.Errorf("document of schema %s is not an object", schema)
	}
	if strings.TrimSpace(rest) != "}" {
		rest = "," + rest
	}
	_, err = fmt.Fprintf(w, "{\n  \"schema\": %q%s\n", "colltune."+schema+"/v1", safe.JSON([]byte(rest)))
	return err
}
