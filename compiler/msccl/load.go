package msccl

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/colltune/colltune/internal/safe"
)

// HowToLoad returns instructions for making a runtime use the files:
// environment variables, and other requirements, one on each line.
func HowToLoad(rt *Runtime, files []string) []string {
	if len(files) == 0 {
		return nil
	}
	dir := safe.Shell(filepath.Dir(files[0]))
	switch rt.Name {
	case "msccl":
		lines := []string{fmt.Sprintf("export MSCCL_XML_FILES=%s NCCL_ALGO=MSCCL,RING,TREE", safe.Shell(strings.Join(files[:min(len(files), rt.MaxAlgorithms)], ":")))}
		if n := len(files) - rt.MaxAlgorithms; n > 0 {
			lines = append(lines, fmt.Sprintf("%s keeps %d files: the last %d of these %d are left out; name those for the sizes you call with", rt.Name, rt.MaxAlgorithms, n, len(files)))
		}
		return append(lines, `its log says "Connected N MSCCL algorithms" (NCCL_DEBUG=INFO)`)
	case "executor-nccl":
		return []string{
			fmt.Sprintf("export MSCCL_ALGO_DIR=%s NCCL_MSCCL_ENABLE=1", dir),
			"every file in the folder must be an algorithm, and the first by name that serves a call is used",
			`its log says "MSCCL: Initialization finished" (NCCL_DEBUG=INFO); one process a GPU, or it says that MSCCL is not available`,
		}
	}
	return []string{
		fmt.Sprintf("export MSCCL_ALGO_DIR=%s RCCL_MSCCL_ENABLE=1 RCCL_MSCCL_FORCE_ENABLE=1", dir),
		fmt.Sprintf("the folder displaces RCCL's own files, to which sizes and collectives are left: cp -n /opt/rocm/share/rccl/msccl-algorithms/*.xml %s", dir),
		"every file in the folder must be an algorithm, and the first that serves a call is used, in the folder's own order: where one of RCCL's overlaps another, narrow its minBytes and maxBytes",
		`for releases that still have MSCCL: their log says "Using MSCCL files from" this folder (NCCL_DEBUG=INFO)`,
	}
}

// FolderError is a folder that a runtime can't be pointed at, and the reason.
type FolderError struct{ Folder, Why string }

// Error names the folder and the reason.
func (e *FolderError) Error() string { return fmt.Sprintf("folder %s: %s", e.Folder, e.Why) }

// CheckFolder returns a *FolderError if the runtime could not be pointed at
// files in a folder.
func (rt *Runtime) CheckFolder(dir string) error {
	if rt.Name == "msccl" && strings.Contains(strings.TrimPrefix(dir, filepath.VolumeName(dir)), ":") {
		return &FolderError{dir, "msccl takes its files from a list with : between them (MSCCL_XML_FILES): want a folder without : in its path"}
	}
	return nil
}
