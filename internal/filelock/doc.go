// Package filelock takes the system's exclusive lock on an open file. The system
// releases it when the file is closed or the process ends, however it ends. A lock
// binds only those who ask for it, and a child process does not inherit it.
//
//	err := filelock.Try(f)     ErrHeld: another open file holds it
//	err := filelock.Wait(f)    blocks until it is free
//
// On Unix a folder can be locked, too. Everywhere the locked file can be read and
// written by anyone.
package filelock
