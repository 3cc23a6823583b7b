package nccl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/child"
)

// The library reads its environment once a process, can hang where no signal reaches it,
// and takes its process down when a device fails. So each environment gets a child process.
// This file has both ends.

// workerName is the name under which that process is registered.
const workerName = "nccl"

func init() { child.Register(workerName, serveBench) }

const maxAnswer = 64 << 20

// question asks the process to look for devices, or to run a trial.
type question struct {
	Library string   `json:"library"` // a path; empty: where the linker finds it
	Trial   *request `json:"trial,omitempty"`
}

// found is a library, with its driver and devices.
type found struct {
	Kind      string   `json:"kind"`
	Name      string   `json:"name"` // of the file that was loaded
	Version   string   `json:"version"`
	Driver    string   `json:"driver"`
	Devices   []string `json:"devices"`
	NoDevices string   `json:"no_devices,omitempty"` // why there are none
}

// reply is the answer to a question, or an error.
type reply struct {
	Found       *found  `json:"found,omitempty"`
	Answer      *answer `json:"answer,omitempty"`
	Error       string  `json:"error,omitempty"`
	Unsupported bool    `json:"unsupported,omitempty"`
}

// serveBench answers questions until no more come.
func serveBench(c *child.Conn) error {
	runtime.LockOSThread() // the current device is the thread's
	var open *bench
	for {
		frame, err := c.Receive()
		if err != nil {
			return err
		}
		var q question
		if err := json.Unmarshal(frame, &q); err != nil {
			return err
		}
		var r reply
		if q.Trial == nil {
			r.Found, err = look(q.Library)
		} else {
			if open == nil {
				open, err = openBench(q.Library, q.Trial.Collective.Ranks)
			}
			if err == nil && len(open.comms) != q.Trial.Collective.Ranks {
				err = fmt.Errorf("%d ranks: this process has a communicator of %d", q.Trial.Collective.Ranks, len(open.comms))
			}
			if err == nil {
				var a answer
				if a, err = open.run(*q.Trial); err == nil {
					r.Answer = &a
				}
			}
		}
		if err != nil {
			r = reply{Error: err.Error(), Unsupported: errors.Is(err, executor.ErrUnsupported)}
		}
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if err := c.Send(b); err != nil {
			return err
		}
	}
}

// look loads the library and lists the devices.
func look(path string) (*found, error) {
	l, err := openLibrary(path)
	if err != nil {
		return nil, err
	}
	f := &found{Kind: l.kind, Name: l.lib.Name, Version: l.version()}
	d, err := openDevices(l.kind)
	n := 0
	if err == nil {
		f.Driver = d.version()
		n, err = d.count()
	}
	for i := range n {
		name, nameless := d.name(i)
		if nameless != nil {
			err = nameless
			break
		}
		f.Devices = append(f.Devices, name)
	}
	if err != nil {
		f.NoDevices = err.Error()
	}
	return f, nil
}

// worker is the parent's end of such a process.
type worker struct {
	*child.Process
	key string // identifies its environment
}

func startWorker(key string, env []string) (*worker, error) {
	p, err := child.Start(child.Options{Name: workerName, Env: env})
	if err != nil {
		return nil, err
	}
	return &worker{p, key}, nil
}

// ask asks a question. After an error the process should be killed.
func (w *worker) ask(ctx context.Context, q question) (*reply, error) {
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	if err := w.Send(b); err != nil {
		return nil, w.died(err)
	}
	b, err = w.Receive(ctx, maxAnswer)
	if err != nil {
		return nil, w.died(err)
	}
	var r reply
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Unsupported:
		return nil, unsupported("%s", r.Error)
	case r.Error != "":
		return nil, errors.New(r.Error + outputTail(w.Tail()))
	}
	return &r, nil
}

// died adds the process's last output to an error.
func (w *worker) died(err error) error {
	if errors.Is(err, child.ErrEnded) {
		return fmt.Errorf("the library's process: %w%s", err, outputTail(w.Tail()))
	}
	return err
}

// outputTail returns a process's output as a suffix for an error; "" if it printed
// nothing.
func outputTail(text string) string {
	if text == "" {
		return ""
	}
	return tail(text)
}

// lookTimeout is how long loading the library and listing devices may take.
const lookTimeout = 20 * time.Second

// lookInChild looks for library and devices in a process of its own.
func lookInChild(ctx context.Context, path string) (*found, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	w, err := startWorker("", nil)
	if err != nil {
		return nil, err
	}
	defer w.Kill()
	r, err := w.ask(ctx, question{Library: path})
	if err != nil {
		return nil, err
	}
	return r.Found, nil
}
