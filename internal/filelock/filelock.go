package filelock

import "errors"

// ErrHeld is Try's error when another open file holds the lock.
var ErrHeld = errors.New("locked by another")
