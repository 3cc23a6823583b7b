package mscclpp

import "github.com/colltune/colltune/compiler/collective"

// Plan is an execution plan, as written.
type Plan struct {
	Name       string
	Collective string
	Protocol   string // Simple or LL
	InPlace    bool

	ReuseResources bool // scratch is 64 MiB that all plans share
	DoubleScratch  bool // launches take turns with two halves of scratch
	Threads        int  // in a threadblock
	Alignment      int  // bytes that chunks are cut at
	MinBytes       uint64
	MaxBytes       uint64 // both included
	GPUs           []GPU

	Missing []string // keys that the runtime asks for and the file lacks
	Notes   []Note
}

// Note is a key that the runtime does not know, or knows by another name.
type Note struct {
	Line    int
	Message string
	Refused bool // the runtime does not load the plan for it
}

// GPU is the part of one rank.
type GPU struct {
	ID               int
	In, Out, Scratch int // chunks
	Threadblocks     []Threadblock
	Channels         []Channel
	RemoteBuffers    []RemoteBuffer
	Semaphores       []int // the values they begin with

	peers    [Switch][]int // of the channels of a type, by channel
	switches []switched
}

// switched is a switch channel.
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

// String is the type's name in plans.
func (c ChannelType) String() string { return channelTypes[c] }

// Channel is an entry of a GPU's channels: to each of the peers, or, for a
// switch, over a buffer of each of the ranks of each group.
type Channel struct {
	Type   ChannelType
	Peers  []int
	Buffer collective.Buffer
	Groups []Group
}

// Group is the ranks whose buffers a switch joins.
type Group struct {
	Size  int // chunks
	Ranks []int
}

// RemoteBuffer is a buffer of another rank, and the channels it is reached by.
type RemoteBuffer struct {
	Rank   int
	Buffer collective.Buffer
	Access []ChannelType
}

// Threadblock is a list of operations, with the channels and remote buffers
// that these name by their index here.
type Threadblock struct {
	ID       int
	Ops      []Op
	Channels []Refs
	Buffers  []Refs

	channels, buffers [Switch + 1][]int // joined, by type
}

// Refs are channels or remote buffers of the GPU that are of one type.
type Refs struct {
	Type ChannelType
	IDs  []int
}

// Op is an operation. What its kind does not have is zero.
type Op struct {
	Kind       *Kind
	Src, Dst   []Ref
	Type       ChannelType
	Channels   []int // indices into the threadblock's channels of Type
	Slice      int   // which of Slices equal parts of its places it does
	Slices     int   // 1: all
	Barrier    int
	Members    int // threadblocks of a barrier
	Semaphores []int
	Reduction  string
	Unit       int // bytes of a pass of a pipeline
	Chunks     int // chunks that a pipeline goes over
	Ops        []Op
}

// Place tells what a Ref names.
type Place uint8

// A Ref is of the rank's own buffer, of a remote one, or of a switch channel.
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

// link joins the lists that operations index into.
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
