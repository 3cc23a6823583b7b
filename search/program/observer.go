package program

// Observer is told what becomes of programs before there are trials. Each function may be
// nil. Stage is called by several goroutines, unless through Through.
type Observer struct {
	Refused func(Refusal) // every refusal, in order
	Notice  func(string)  // a line for the user
	// Stage is the work under way, with the number of its steps that are done.
	Stage func(what string, done, of int)
}

// Refuse tells of a refusal.
func (o Observer) Refuse(r Refusal) {
	if o.Refused != nil {
		o.Refused(r)
	}
}

// Say gives the user a line; long lists in it are cut.
func (o Observer) Say(s string) {
	if o.Notice != nil {
		o.Notice(ShortLists(s))
	}
}

// Reach tells of n steps that are done.
func (o Observer) Reach(what string, done, of int) {
	if o.Stage != nil {
		o.Stage(what, done, of)
	}
}

// Once returns an observer that passes on each refusal and notice the first time only.
func (o Observer) Once() Observer {
	return Observer{eachOnce(o.Refuse), eachOnce(o.Say), o.Stage}
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

// Through returns an observer whose functions are called by call, which may run them in
// another goroutine.
func (o Observer) Through(call func(func())) Observer {
	return Observer{
		func(r Refusal) { call(func() { o.Refuse(r) }) },
		func(s string) { call(func() { o.Say(s) }) },
		func(what string, done, of int) { call(func() { o.Reach(what, done, of) }) },
	}
}
