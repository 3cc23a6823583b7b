// Package filetest writes files and reads whole folders, for tests.
package filetest
