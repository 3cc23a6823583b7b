package cuda

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The records in a device's memory, field by field as in kernel/layout.h. A test compares
// the sizes, and the host build of the kernels reads the same records.

type chunkRecord struct{ Address, Aside uint64 }

type stepRecord struct {
	Src, Dst             chunkRecord
	SrcChunk, DstChunk   uint32
	SrcStride, DstStride int32
	Count                uint32
	Dependencies         uint32
	Does                 does
	DependencyCount      uint16
	Index                uint32
	Sources, Bytes       uint32
	SourceApart          int64
}

// does is the set of a step's actions.
type does uint16

const (
	receives does = 1 << iota
	sends
	loads
	stores
	reduces
	flags // other threadblocks wait for it
	small // a line for each thread at most, whole and aligned, of one tile of one chunk
)

type dependencyRecord struct {
	Semaphore           uint64
	Steps, Step         uint32
	Threadblock, Unused uint32
}

type endRecord struct{ Slots, Tail, Head uint64 }

type blockRecord struct {
	Turn, Sent, Received  uint64
	SendSlot, ReceiveSlot uint32
	Steps, Semaphore      uint64
	Send, Receive         endRecord
	StepCount             uint32
	Rank, Threadblock     uint32
	SendTo, ReceiveFrom   int32
	RankBlocks, RankBlock uint32
	Results, ResultCount  uint32
	ProgramSteps          uint32
	Finished              uint64
	Sends, Receives       uint32
	SendSlots, RecvSlots  uint32
}

// headRecord is a block and its first steps, which are in the table of steps too.
type headRecord struct {
	Block blockRecord
	First [firstSteps]stepRecord
}

type exchangeRecord struct {
	Turn                       uint64
	Rank, Results, ResultCount uint32
	Unused                     [3]uint32
}

type partRecord struct {
	Src, Dst    uint64
	First       uint32
	Does        partDoes
	Comes, Goes uint32
}

// partDoes is the set of a part's actions.
type partDoes uint32

const (
	partReads partDoes = 1 << iota
	partAdds
	partWrites
	partApart
)

type armRecord struct {
	Slots         uint64
	Each, Before  uint16
	Sends         uint32
	Address, Head uint64
}

type resultRecord struct{ Address, Elements, Terms uint64 }

type launchRecord struct {
	Blocks, Chunks, Dependencies, Results uint64
	Status, Claim                         uint64
	Timeout, SlotBytes                    uint64
	Tiles, ChunkElements, TileElements    uint32
	PerCall, Slots, Reduction             uint32
	Ordered, System                       uint32
	Parts, Arms                           uint32
}

type statusRecord struct {
	Cancel, Waiting               uint32
	Rank, Threadblock, Step, Tile uint32
	Peer                          int32
	PeerStep                      uint32
}

// waitsForSlot is FOR_SLOT of kernel/layout.h.
const waitsForSlot = 1

type generatorRecord struct {
	Seed               uint64
	Form, M, K, Unused uint32
}

type fillRecord struct {
	Generator         generatorRecord
	Address, Elements uint64
	Rank, Unused      uint32
}

type spreadRecord struct{ Address, Elements, Bits uint64 }

type termRecord struct {
	Rank, Unused uint32
	First        uint64
}

type wantRecord struct {
	Address, Elements uint64
	Term, Terms       uint32
}

type referenceRecord struct {
	Generator                           generatorRecord
	Wants, Terms, Wrong, ChunkElements  uint64
	WantCount, Reduction, Spoil, Unused uint32
}

type holdRecord struct{ Nanoseconds uint64 }

type hopRecord struct{ There, Back, Rounds, Timeout uint64 }

// encode returns the bytes of a record, or of a slice of records.
func encode(record any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, record); err != nil {
		panic(fmt.Sprintf("record of type %T: %v", record, err)) // a field without a size
	}
	return b.Bytes()
}

// arena assigns offsets in memory that is allocated later.
type arena struct{ bytes int64 }

// line is the alignment of counters and buffers in bytes: no two share a memory
// transaction.
const line = 256

// take returns the offset of the given bytes, at the beginning of a line.
func (a *arena) take(bytes int64) int64 {
	at := a.bytes
	a.bytes = (at + bytes + line - 1) / line * line
	return at
}
