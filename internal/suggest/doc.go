// Package suggest finds the known name that an unknown one is probably a misspelling of,
// for errors.
package suggest
