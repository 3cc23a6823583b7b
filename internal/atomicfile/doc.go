// Package atomicfile replaces files whole: whoever opens the path finds the old
// file or all of the new one, after a crash too.
//
//	f, err := atomicfile.New(path, 0o644)
//	defer f.Discard()
//	…write to f…
//	err = f.Commit()
//
// Until Commit the text is in a temporary file beside path, called "." + the path's
// last element + a number. A process that is killed leaves that file behind.
package atomicfile
