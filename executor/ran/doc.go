// Package ran keeps which executors this user has run for a campaign, so that resume runs a
// program that a campaign's files name only if the user has run it there before.
//
//	~/.local/state/colltune/ran/HASH.json    one a campaign and machine, never in the campaign
//
// A record is valid for one folder at one place: a folder that was moved there or made again
// has another identity (folder_linux.go, folder_unix.go, folder_other.go), and a file that
// others can write counts as none (private_unix.go).
//
// It does not decide whom to trust: the command does.
package ran
