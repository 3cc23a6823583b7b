// Liar is an executor that lies, as docs/plugins.md would let a bad one: it speaks
// the protocol without colltune's library, and tells the lie that its file is
// called by. A test holds what a campaign then says to the truth.
package main
