package cuda

import (
	"errors"
	"fmt"
)

// launches returns how programs are launched, for the fingerprint, so that times of graphs
// are never mixed with others.
func (g *gpus) launches() string {
	if g.graph {
		return "graphs"
	}
	return "launches"
}

// recorded records the launches of start on each of the first n devices as a graph, and
// returns a function that launches the graphs. Without graphs it returns start.
func (g *gpus) recorded(n int, start func() error) (func() error, error) {
	if !g.graph {
		return start, nil
	}
	first := len(g.graphs)
	var err error
	begun := 0
	for _, one := range g.all[:n] {
		if err = one.c.BeginCapture(one.stream); err != nil {
			break
		}
		begun++
	}
	if err == nil {
		err = start()
	}
	for _, one := range g.all[:begun] {
		graph, e := one.c.EndCapture(one.stream)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		g.graphs = append(g.graphs, graph)
		err = errors.Join(err, graph.Upload(one.stream))
	}
	if err != nil {
		return nil, fmt.Errorf("recording a CUDA graph: %w", err)
	}
	made := g.graphs[first:]
	return func() error {
		for i, graph := range made {
			if err := graph.Launch(g.all[i].stream); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
