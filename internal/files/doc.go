// Package files reads the files that a user names: regular ones, up to a size that
// the caller gives, and nothing that would keep the command waiting or fill its
// memory.
//
//	text, err := files.Read("ring.star", 256<<10)
//
// Errors say what is wrong and what would do, without the path, which callers put
// before them in their own words. Those of the system are as errors.Is knows them.
package files
