package msccl

import (
	"fmt"
	"path/filepath"
	"strings"
)

// HowToLoad tells a user how to make a runtime use the files: a line of
// environment variables, and other requirements, one on each line. quote quotes a
// value for the shell.
func HowToLoad(rt *Runtime, files []string, quote func(string) string) []string {
	if len(files) == 0 {
		return nil
	}
	dir := quote(filepath.Dir(files[0]))
	switch rt.Name {
	case "msccl":
		lines := []string{fmt.Sprintf("export MSCCL_XML_FILES=%s NCCL_ALGO=MSCCL,RING,TREE", quote(strings.Join(files[:min(len(files), rt.MaxAlgorithms)], ":")))}
		if n := len(files) - rt.MaxAlgorithms; n > 0 {
			lines = append(lines, fmt.Sprintf("%s keeps %d files: the last %d of these %d are left out; name those for the sizes you call with", rt.Name, rt.MaxAlgorithms, n, len(files)))
		}
		return append(lines, `its log says "Connected N MSCCL algorithms" (NCCL_DEBUG=INFO); outside the files' sizes NCCL's own algorithms run`)
	case "executor-nccl":
		return []string{
			fmt.Sprintf("export MSCCL_ALGO_DIR=%s NCCL_MSCCL_ENABLE=1", dir),
			"one process a GPU; every file in the folder must be an algorithm, and the first by name that serves a call is used",
		}
	}
	return []string{
		fmt.Sprintf("export MSCCL_ALGO_DIR=%s RCCL_MSCCL_ENABLE=1 RCCL_MSCCL_FORCE_ENABLE=1", dir),
		"every file in the folder must be an algorithm, and the first that serves a call is used, in the folder's own order: let their sizes not overlap",
		"for releases that still have MSCCL",
	}
}
