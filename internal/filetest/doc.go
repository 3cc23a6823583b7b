// Package filetest plants files and compares folders, for tests.
package filetest
