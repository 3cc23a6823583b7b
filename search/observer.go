package search

// Observer is told what happens in a search before there are trials. Its functions are
// called by one goroutine at a time; each may be nil.
type Observer struct {
	Refused func(Refusal) // every refusal, in order
	Notice  func(string)  // a line for the user
	// Stage is the work under way, with the number of its steps that are done.
	Stage func(what string, done, of int)
}

func (o Observer) refused(r Refusal) {
	if o.Refused != nil {
		o.Refused(r)
	}
}

func (o Observer) notice(s string) {
	if o.Notice != nil {
		o.Notice(shortLists(s))
	}
}

func (o Observer) stage(what string, done, of int) {
	if o.Stage != nil {
		o.Stage(what, done, of)
	}
}

// once returns an observer that passes on each refusal and notice the first time only.
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

// through returns an observer whose functions are called by call, which may run them in
// another goroutine.
func (o Observer) through(call func(func())) Observer {
	return Observer{
		func(r Refusal) { call(func() { o.refused(r) }) },
		func(s string) { call(func() { o.notice(s) }) },
		func(what string, done, of int) { call(func() { o.stage(what, done, of) }) },
	}
}
