// Package network turns a topology into a flow network, for bounds, trees and synth, and
// lists the hops between ranks, for synth and greedy.
//
//	rank ─▶ nic out ─▶ fabric ─▶ nic in ─▶ rank
//
// A NIC is two vertices, one for each direction, because data do not turn round inside
// it. Maximum flows are package maxflow's.
package network
