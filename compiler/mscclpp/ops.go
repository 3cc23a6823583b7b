package mscclpp

import "strings"

// Kind is a row of the table of operations.
type Kind struct {
	Name   string
	effect effect
	// src and dst are patterns of places, one letter for each; a star repeats the
	// last one.
	//
	//	l  the rank's own buffer            p  packets in its own scratch
	//	r  a remote buffer                  q  packets in remote scratch
	//	g  a buffer of all ranks of a group h  packets in all their scratches
	src, dst string
	relaxed  bool // orders execution, but not memory
	port     bool // needs a port channel
}

// effect is how a kind of operation is executed.
type effect uint8

const (
	syncs     effect = iota // synchronises all threads of the threadblock
	meets                   // synchronises some threadblocks of the GPU
	signals                 // signals the other end of channels
	waits                   // waits for signals
	flushes                 // waits until ports have copied what they were handed
	acquires                // takes semaphores of the GPU
	releases                // posts semaphores of the GPU
	pipelines               // repeats its operations, advancing by a unit of bytes each time
	pairs                   // copies source i to destination i
	moves                   // writes the sum of all sources to each destination
	unknown                 // an operation that the runtime does not have
)

// kinds is the table of operations. A copy by a port takes packets as they are,
// flags included.
var kinds = []Kind{
	{Name: "nop", effect: syncs},
	{Name: "barrier", effect: meets},
	{Name: "signal", effect: signals},
	{Name: "rlxsignal", effect: signals, relaxed: true},
	{Name: "wait", effect: waits},
	{Name: "rlxwait", effect: waits, relaxed: true},
	{Name: "flush", effect: flushes, port: true},
	{Name: "sem_acquire", effect: acquires},
	{Name: "sem_release", effect: releases},
	{Name: "pipeline", effect: pipelines},
	{Name: "put", effect: pairs, src: "l*", dst: "r*"},
	{Name: "pws", effect: pairs, src: "l*", dst: "r*", port: true},
	{Name: "pwsf", effect: pairs, src: "l*", dst: "r*", port: true},
	{Name: "get", effect: pairs, src: "r*", dst: "l*"},
	{Name: "ppkt", effect: pairs, src: "l*", dst: "q*"},
	{Name: "rppkt", effect: moves, src: "p", dst: "q*"},
	{Name: "copy", effect: moves, src: "l", dst: "l"},
	{Name: "cpkt", effect: moves, src: "l", dst: "p"},
	{Name: "upkt", effect: moves, src: "p", dst: "l"},
	{Name: "re", effect: moves, src: "ll*", dst: "l"},
	{Name: "res", effect: moves, src: "ll*", dst: "lr*"},
	{Name: "rre", effect: moves, src: "lr*", dst: "l"},
	{Name: "rres", effect: moves, src: "lr*", dst: "lr*"},
	{Name: "repkt", effect: moves, src: "lp*", dst: "l"},
	{Name: "respkt", effect: moves, src: "lp*", dst: "lq*"},
	{Name: "recpkt", effect: moves, src: "lp*", dst: "lp"},
	{Name: "recspkt", effect: moves, src: "lp*", dst: "lpq*"},
	{Name: "glres", effect: moves, src: "g", dst: "g"},
	{Name: "gstore", effect: moves, src: "l", dst: "g"},
	{Name: "gstorepkt", effect: moves, src: "p", dst: "h"},
}

// kindOf returns the kind with a name, or a new unknown one.
func kindOf(name string) *Kind {
	for i := range kinds {
		if kinds[i].Name == name {
			return &kinds[i]
		}
	}
	return &Kind{Name: name, effect: unknown}
}

// patternLetter returns the letter of place i in a pattern, or 0 if there is no
// such place.
func patternLetter(pattern string, i int) byte {
	star := strings.HasSuffix(pattern, "*")
	pattern = strings.TrimSuffix(pattern, "*")
	switch {
	case i < len(pattern):
		return pattern[i]
	case star:
		return pattern[len(pattern)-1]
	}
	return 0
}

// patternLength returns the least number of places that a pattern matches.
func patternLength(pattern string) int { return len(strings.TrimSuffix(pattern, "*")) }

func (k *Kind) moving() bool { return k.effect == pairs || k.effect == moves }

func packet(letter byte) bool { return letter == 'p' || letter == 'q' || letter == 'h' }

// place returns the kind of Ref that a letter asks for.
func place(letter byte) Place {
	switch letter {
	case 'r', 'q':
		return Remote
	case 'g', 'h':
		return OnSwitch
	}
	return Local
}

// source returns the letter of source i. Over a port, ppkt takes memory that holds
// packets already.
func (o *Op) source(i int) byte {
	if o.Kind.Name == "ppkt" && o.Type == Port {
		return 'p'
	}
	return patternLetter(o.Kind.src, i)
}

func (o *Op) target(i int) byte { return patternLetter(o.Kind.dst, i) }
