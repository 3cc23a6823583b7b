package nccl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/nccl/debuglog"
)

// selectProgram makes an MSCCL runtime load a program. The runtime runs it only
// where its chunks divide the call, with the runtime's own tile, and silently
// something else otherwise. So what it would not run is refused before anything is
// launched.
func (l *launched) selectProgram(t *executor.Trial) (selection, error) {
	rt, err := msccl.Lookup(l.runtime)
	if err != nil {
		return selection{}, unsupported("the library reads no programs: runtime in [executor.nccl] says which it is")
	}
	elem, err := collective.ElemBytes(t.DType)
	if err != nil {
		return selection{}, err
	}
	proto := t.Protocol.String()
	if ok, why := msccl.Accepts(t.Program, rt.Name, proto); !ok {
		return selection{}, unsupported("%s: %s", rt.Name, strings.Join(why, "; "))
	}
	if own := rt.Tiles[proto]; t.TileBytes != own {
		return selection{}, unsupported("tile of %d bytes: %s has its own, %d bytes with %s", t.TileBytes, rt.Name, own, proto)
	}
	if n := msccl.Granularity(t.Program, elem); n < 1 || t.Bytes%n != 0 {
		return selection{}, unsupported("%d bytes: %s runs the program for multiples of %d bytes, and falls back for others", t.Bytes, rt.Name, n)
	}
	if c, err := collective.New(t.Program.Collective); t.Op == "avg" && err == nil && c.Reduces() {
		return selection{}, unsupported("avg: %s falls back for it", rt.Name)
	}
	// The file covers every size, so that one launch can sweep them.
	o := msccl.WriteOptions{
		Runtime: rt.Name, Protocol: proto, MaxBytes: 1 << 40, Name: "colltune",
		InPlace: t.Program.Collective.InPlace, OutOfPlace: !t.Program.Collective.InPlace,
	}
	var text bytes.Buffer
	if err := msccl.Write(&text, t.Program, o); err != nil {
		return selection{}, unsupported("%s", err)
	}
	// The folder holds nothing else, because these runtimes read every file in it.
	dir, err := os.MkdirTemp(l.folder, "colltune-msccl-")
	if err != nil {
		return selection{}, fmt.Errorf("nccl: folder for programs: %w", err)
	}
	file := filepath.Join(dir, "colltune.xml")
	h := selection{key: t.Program.Hash() + " " + proto, drop: func() {
		_ = os.Remove(file)
		_ = os.Remove(dir)
	}}
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(file, text.Bytes(), 0o600), os.Chmod(file, 0o644)); err != nil { // other hosts' users read it
		h.drop()
		return selection{}, fmt.Errorf("nccl: file of a program: %w", err)
	}
	switch rt.Name {
	case "msccl":
		h.env = []string{"MSCCL_XML_FILES=" + file, "NCCL_ALGO=MSCCL,RING,TREE"}
	case "executor-nccl":
		h.env = []string{"MSCCL_ALGO_DIR=" + dir, "NCCL_MSCCL_ENABLE=1"}
	default:
		h.env = []string{"MSCCL_ALGO_DIR=" + dir, "RCCL_MSCCL_ENABLE=1", "RCCL_MSCCL_FORCE_ENABLE=1"}
	}
	h.check = func(log *debuglog.Log) error { return l.confirmProgram(t, rt, log) }
	if rt.Name != "msccl" && !l.known.tells {
		h.note = unconfirmedNote
	}
	return h, nil
}

// confirmProgram returns an error if the log contradicts that a program ran. The first of
// these runtimes logs the programs it loads. The later ones run a program without reaching
// the code in which the library chooses an algorithm. So a choice logged for this
// collective is of a call that fell back, or of one in the other placement, which the tests
// make too and the file does not serve.
func (l *launched) confirmProgram(t *executor.Trial, rt *msccl.Runtime, log *debuglog.Log) error {
	if rt.Name == "msccl" {
		if log.MSCCL < 1 {
			return errors.New("the library does not say that it has connected a program")
		}
		return nil
	}
	if !l.known.tells || !slices.Contains(algorithms[0].collectives, t.Program.Collective.Name) {
		if l.trusted {
			return nil
		}
		return errors.New("the library's log does not say whether it ran or something else did")
	}
	fellBack := 0
	for _, c := range log.Choices {
		if c.Collective == "" || c.Collective == t.Program.Collective.Name {
			fellBack++
		}
	}
	// Half of the calls are in the other placement, which the file does not serve.
	if fellBack > l.known.choices/2 {
		return fmt.Errorf("it fell back: of %d calls the library chose an algorithm of its own for %d", l.known.choices, fellBack)
	}
	return nil
}
