package filelock

import "errors"

// ErrHeld says that somebody else has the lock.
var ErrHeld = errors.New("locked by another")
