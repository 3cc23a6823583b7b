package container

// ConnTable numbers connections in the order of their first use. It is
// consulted for every one of millions of messages, so it is a special-purpose
// hash table with linear probing:
//
//	places   0 0 3 0 1 2 0 0      1 + the number, 0 if free
//	keys     (0→5 ch 0) (2→1 ch 0) (0→1 ch 0)
type ConnTable struct {
	keys   []ConnKey // by number
	places []int32   // length is a power of two; at least a third are free
}

// ConnKey identifies a connection. It includes the instance while channels are
// numbered separately for each instance.
type ConnKey struct {
	From, To, Instance, Channel int32
}

// NewConnTable returns an empty table.
func NewConnTable() *ConnTable { return &ConnTable{places: make([]int32, 1<<10)} }

// Number returns a connection's number, and whether it is new.
func (t *ConnTable) Number(k ConnKey) (n int32, made bool) {
	at := t.slot(k)
	if p := t.places[at]; p != 0 {
		return p - 1, false
	}
	t.keys = append(t.keys, k)
	t.places[at] = int32(len(t.keys))
	if len(t.keys) > len(t.places)*2/3 {
		t.places = make([]int32, 2*len(t.places))
		for i, k := range t.keys {
			t.places[t.slot(k)] = int32(i + 1)
		}
	}
	return int32(len(t.keys)) - 1, true
}

// slot returns the index in places of a connection, or of the free place where
// it belongs.
func (t *ConnTable) slot(k ConnKey) int {
	const odd, other = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9 // constants of splitmix64
	h := (uint64(uint32(k.From))<<32|uint64(uint32(k.To)))*odd ^ (uint64(uint32(k.Instance))<<32|uint64(uint32(k.Channel)))*other
	h ^= h >> 32
	for at := int(h) & (len(t.places) - 1); ; at = (at + 1) & (len(t.places) - 1) {
		if p := t.places[at]; p == 0 || t.keys[p-1] == k {
			return at
		}
	}
}
