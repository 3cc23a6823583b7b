package tuningtest

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"github.com/colltune/colltune/results/tuning"
)

// readers are by format, each given a file's name and text.
var readers = map[string]func(name string, text []byte) (Reader, error){
	"nccl-tuner-csv": func(_ string, text []byte) (Reader, error) { return readTuner(text, "nccl", 1), nil },
	"rccl-conf":      func(_ string, text []byte) (Reader, error) { return readTuner(text, "rccl", 0), nil },
	"ncclx-csv":      readNCCLXCSV,
	"ncclx-json":     readNCCLXJSON,
	"nccl-sym-env":   readSymmetric,
	"mscclpp-tuning": readMSCCLPP,
	"vllm":           readVLLM,
	"sglang":         readSGLang,
	"mcr-dl":         readMCRDL,
	"json":           readDocument,
}

// Read reads a file of a format.
func Read(format, name string, text []byte) (Reader, error) { return readers[format](name, text) }

// system is how entries of a format name a system.
func system(format, name string) string {
	f, err := tuning.Named(format)
	if err != nil {
		panic(err)
	}
	return f.System(name)
}

// Reader answers as the library that loads a file. A Config has what the file says, and no
// more. ok is false where the library is left to its own choice, but for channels that c has.
type Reader interface {
	Choose(call tuning.Scope, bytes int64) (c tuning.Config, ok bool)
}

// maxEntries is the most entries of a file that are read.
const maxEntries = 1_000_000

// entries are the numbered lines of a file that are neither blank nor comments.
func entries(text []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range bytes.Lines(text) {
			n++
			if s := strings.TrimSpace(string(line)); s != "" && s[0] != '#' && !yield(n, s) {
				return
			}
		}
	}
}

// lineError is the error of a line.
func lineError(name string, line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", name, line, fmt.Sprintf(format, args...))
}

// variables reads lines of export NAME=VALUE, of which a later one counts.
func variables(name string, text []byte) (map[string]string, error) {
	values := map[string]string{}
	for n, line := range entries(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		if !ok || key == "" || strings.ContainsAny(key, " \t\"'$") {
			return nil, lineError(name, n, "%.60q: want export NAME=VALUE", line)
		}
		if values[key] = value; len(values) > maxEntries {
			return nil, lineError(name, n, "more than %d variables", maxEntries)
		}
	}
	return values, nil
}
