package executortest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/colltune/colltune/executor/conform"
	"github.com/colltune/colltune/executor/host"
)

func init() {
	escaping["foreign-host"] = func(dir, name string) {
		h, err := host.Start(context.Background(), name, host.Options{})
		if err != nil {
			panic(err)
		}
		leave2(dir, "go")
		for !isChild(dir, "adopted") {
			time.Sleep(time.Millisecond)
		}
		if err := h.Close(); err != nil {
			panic(err)
		}
		_, checks, err := conform.Run(context.Background(), name, host.Options{})
		for _, c := range checks {
			fmt.Printf("%+v\n", c)
		}
		fmt.Println("children:", isChild(dir, "before"), isChild(dir, "adopted"), err)
	}
}

// isChild reports whether the process whose number is in the file is there, and a
// child of this one.
func isChild(dir, name string) bool {
	pid, _ := os.ReadFile(filepath.Join(dir, name))
	stat, err := os.ReadFile("/proc/" + string(bytes.TrimSpace(pid)) + "/stat")
	if err != nil {
		return false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return fields[0][0] != 'Z' && string(fields[1]) == strconv.Itoa(os.Getpid())
}
