package search

// Observer is told what happens in a search before there are trials. Its functions are
// called by one goroutine at a time; each may be nil.
type Observer struct {
	Refused func(Refusal) // every refusal, in order
	Notice  func(string)  // what the user should know
	// Stage is what is being done, and how much of it: done steps of a number of them.
	Stage func(what string, done, of int)
}

func (o Observer) refused(r Refusal) {
	if o.Refused != nil {
		o.Refused(r)
	}
}

func (o Observer) notice(s string) {
	if o.Notice != nil {
		o.Notice(s)
	}
}

func (o Observer) stage(what string, done, of int) {
	if o.Stage != nil {
		o.Stage(what, done, of)
	}
}

// once is an observer that is told everything only once, however often it occurs, but
// for stages.
func (o Observer) once() Observer {
	return Observer{eachOnce(o.refused), eachOnce(o.notice), o.Stage}
}

// eachOnce passes on each value the first time.
func eachOnce[T comparable](tell func(T)) func(T) {
	told := map[T]bool{}
	return func(v T) {
		if !told[v] {
			told[v] = true
			tell(v)
		}
	}
}

// through is an observer that is told by call, which may be in another goroutine.
func (o Observer) through(call func(func())) Observer {
	return Observer{
		func(r Refusal) { call(func() { o.refused(r) }) },
		func(s string) { call(func() { o.notice(s) }) },
		func(what string, done, of int) { call(func() { o.stage(what, done, of) }) },
	}
}
