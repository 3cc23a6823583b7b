package autotune

import (
	"slices"

	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/topologies"
)

// minNearTile is the smallest such tile in bytes: below it, more calls cost more than
// nearer slots save.
const minNearTile = 16 << 10

// nearTiles returns tiles in bytes to try beside the topology's, if each of those makes
// a program's slots too large for the cache near the executor's processors. That happens
// if ranks share a device and its cache, while the topology has a device for each.
//
//	128 connections of 2 slots     tiles of 256 KiB   64 MiB
//	on a device with 50 MiB        tiles of 128 KiB   32 MiB, tried
//	                               tiles of  32 KiB    8 MiB, tried: buffers pass the same cache
func (p *Problem) nearTiles(cand *candidate, proto topologies.Proto, bytes, elem int64) []int64 {
	if p.SlotCache == 0 || p.Devices == 0 || len(p.Tiles[proto]) > 0 || p.Runtime != "" {
		return nil
	}
	params := &p.Topology.Protocols[proto]
	slots := float64((cand.connections+p.Devices-1)/p.Devices*params.Slots) * params.Wire
	call := export.ChunkBytes(bytes, elem, cand.loopChunks) * int64(max(cand.maxCount, 1)) // the largest
	near := func(tile int64) bool { return 4*slots*float64(min(tile, call)) <= 3*float64(p.SlotCache) }
	if slots == 0 || slices.ContainsFunc(p.tiles(proto), near) {
		return nil
	}
	largest := int64(1) << 62
	for !near(largest) {
		largest /= 2
	}
	return slices.DeleteFunc([]int64{largest, largest / 4}, func(tile int64) bool { return tile < minNearTile })
}
