package compiler

func (u *unit) check() error { return nil }
func (u *unit) text() string { return "" }
