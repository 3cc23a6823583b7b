// Liar is an executor that misbehaves, in the way that its file's name says. It speaks the
// protocol of docs/plugins.md without colltune's library. Tests check what a campaign
// makes of it.
package main
