package mscclpp

import "github.com/colltune/colltune/compiler/collective"

// Plan is an execution plan, as written in its file.
type Plan struct {
	Name       string
	Collective string
	Protocol   string // Simple or LL
	InPlace    bool

	ReuseResources bool // scratch is the 64 MiB that all plans share
	DoubleScratch  bool // launches alternate between two halves of scratch
	Threads        int  // in a threadblock
	Alignment      int  // bytes; chunks are divided at multiples of it
	MinBytes       uint64
	MaxBytes       uint64 // MinBytes and MaxBytes are both included
	GPUs           []GPU

	Missing []string // keys that the runtime requires and the file lacks
	Notes   []Note
}

// Note is a key that the runtime ignores, or expects under another name.
type Note struct {
	Line    int
	Message string
	Refused bool // the runtime does not load the plan because of it
}

// GPU is the plan of one rank.
type GPU struct {
	ID               int
	In, Out, Scratch int // chunks
	Threadblocks     []Threadblock
	Channels         []Channel
	RemoteBuffers    []RemoteBuffer
	Semaphores       []int // their initial values

	peers    [Switch][]int // by type and channel
	switches []switched
}

type switched struct {
	buffer collective.Buffer
	group  *Group
}

// ChannelType is how a channel moves data.
type ChannelType uint8

// Memory is loads and stores, Port is a proxy's copies, Switch is multimem.
const (
	NoChannel ChannelType = iota
	Memory
	Port
	Switch
)

var channelTypes = [...]string{NoChannel: "none", Memory: "memory", Port: "port", Switch: "switch"}

// String returns the type's name in plans.
func (c ChannelType) String() string { return channelTypes[c] }

// Channel is an entry in a GPU's list of channels: one to each of the peers, or
// for a switch, one over a buffer of the ranks of each group.
type Channel struct {
	Type   ChannelType
	Peers  []int
	Buffer collective.Buffer
	Groups []Group
}

// Group is the set of ranks whose buffers a switch channel combines.
type Group struct {
	Size  int // chunks
	Ranks []int
}

// RemoteBuffer is a buffer of another rank, with the channels through which it is
// accessed.
type RemoteBuffer struct {
	Rank   int
	Buffer collective.Buffer
	Access []ChannelType
}

// Threadblock is a list of operations, with the channels and remote buffers that
// the operations refer to by index.
type Threadblock struct {
	ID       int
	Ops      []Op
	Channels []Refs
	Buffers  []Refs

	channels, buffers [Switch + 1][]int // the lists of each type, joined
}

// Refs are channels or remote buffers of the GPU, of one type.
type Refs struct {
	Type ChannelType
	IDs  []int
}

// Op is an operation. Fields that its kind does not have are zero.
type Op struct {
	Kind       *Kind
	Src, Dst   []Ref
	Type       ChannelType
	Channels   []int // indices into the threadblock's channels of Type
	Slice      int   // which of Slices equal parts of its places it handles
	Slices     int   // 1 for the whole
	Barrier    int
	Members    int // threadblocks of a barrier
	Semaphores []int
	Reduction  string
	Unit       int // bytes of one pass of a pipeline
	Chunks     int // chunks that a pipeline covers
	Ops        []Op
}

// Place is the kind of memory that a Ref refers to.
type Place uint8

// A Ref is in the rank's own buffer, in a remote one, or in the buffers behind a
// switch channel.
const (
	Local Place = iota
	Remote
	OnSwitch
)

// Ref is a run of chunks.
type Ref struct {
	Place  Place
	Buffer collective.Buffer // Local
	ID     int               // Remote, OnSwitch: index into the threadblock's list
	Index  int
	Size   int
}

// link joins the lists that operations refer to by index.
func (p *Plan) link() {
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		gpu.peers, gpu.switches = [Switch][]int{}, nil
		for i := range gpu.Channels {
			c := &gpu.Channels[i]
			if c.Type != Switch {
				gpu.peers[c.Type] = append(gpu.peers[c.Type], c.Peers...)
				continue
			}
			for j := range c.Groups {
				gpu.switches = append(gpu.switches, switched{c.Buffer, &c.Groups[j]})
			}
		}
		for t := range gpu.Threadblocks {
			tb := &gpu.Threadblocks[t]
			tb.channels, tb.buffers = joined(tb.Channels), joined(tb.Buffers)
		}
	}
}

func joined(refs []Refs) (all [Switch + 1][]int) {
	for _, r := range refs {
		all[r.Type] = append(all[r.Type], r.IDs...)
	}
	return all
}
