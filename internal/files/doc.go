// Package files reads the files that a user names: regular ones, up to a size that
// the caller gives, and nothing that would keep the command waiting or fill its
// memory.
//
//	text, err := files.Read("ring.star", 256<<10)
//
// Errors say what is wrong and what is wanted, without the path, which callers add.
// Those of the system match errors.Is.
package files
