package topologies

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/colltune/colltune/internal/units"
)

// encoding is a Topology in JSON. The order of fields is part of the canonical
// form. Links are arrays because they are most of it.
type encoding struct {
	Schema    string      `json:"schema"`
	Name      string      `json:"name"`
	Nodes     int         `json:"nodes"`
	Runtime   string      `json:"runtime"`
	Arch      string      `json:"arch"`
	CPU       string      `json:"cpu"`
	NICPath   string      `json:"nic_path,omitempty"`
	NoFiles   bool        `json:"no_msccl_files,omitempty"`
	Ranks     [][]int64   `json:"ranks"`    // node, local, SMs; and memory where it is known
	Vertices  []vertex    `json:"vertices"` // those that are not ranks
	Edges     edges       `json:"edges"`
	Protocols [3]Protocol `json:"protocols"`
}

type vertex struct {
	Kind VertexKind `json:"kind"`
	Node int        `json:"node"`
	Name string     `json:"name"`
}

// edges is each link as [from, to, kind, count, bandwidth, latency, message], and what is
// counted of the bandwidth where that is another number.
type edges []Edge

const encodingSchema = "colltune.topology/v1"

// MarshalJSON writes the arrays.
func (all edges) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, e := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for _, n := range [...]int64{int64(e.From), int64(e.To), int64(e.Kind), int64(e.Count), int64(e.Bandwidth)} {
			b = strconv.AppendInt(b, n, 10)
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(e.Latency), 'g', -1, 64)
		b = append(b, ',')
		b = strconv.AppendFloat(b, float64(e.Message), 'g', -1, 64)
		if e.Counted != 0 {
			b = strconv.AppendInt(append(b, ','), int64(e.Counted), 10)
		}
		b = append(b, ']')
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads the arrays.
func (all *edges) UnmarshalJSON(b []byte) error {
	var rows [][]json.RawMessage
	if err := json.Unmarshal(b, &rows); err != nil {
		return err
	}
	for i, parts := range rows {
		var e Edge
		fields := []any{&e.From, &e.To, &e.Kind, &e.Count, &e.Bandwidth, &e.Latency, &e.Message, &e.Counted}
		if len(parts) != len(fields) && len(parts) != len(fields)-1 {
			return fmt.Errorf("edge %d of %d parts: want %d, and what is counted where it differs", i, len(parts), len(fields)-1)
		}
		for j := range parts {
			if err := json.Unmarshal(parts[j], fields[j]); err != nil {
				return fmt.Errorf("edge %d: %w", i, err)
			}
		}
		*all = append(*all, e)
	}
	return nil
}

func (t *Topology) encoding(names bool) encoding {
	enc := encoding{
		Schema: encodingSchema, Nodes: t.Nodes, Runtime: t.Runtime, Arch: t.Arch, CPU: t.CPU, NICPath: t.NICPath, NoFiles: t.NoMSCCLFiles,
		Ranks: make([][]int64, len(t.Ranks)), Vertices: []vertex{}, Edges: edges(t.Edges),
		Protocols: t.Protocols,
	}
	for i, r := range t.Ranks {
		enc.Ranks[i] = []int64{int64(r.Node), int64(r.Local), int64(r.SMs)}
		if r.Memory != 0 {
			enc.Ranks[i] = append(enc.Ranks[i], int64(r.Memory))
		}
	}
	for _, v := range t.Vertices[len(t.Ranks):] {
		if !names {
			v.Name = ""
		}
		enc.Vertices = append(enc.Vertices, vertex(v))
	}
	if names {
		enc.Name = t.Name
	}
	return enc
}

// Encode writes the topology as canonical JSON: equal topologies give equal bytes.
func (t *Topology) Encode() []byte { return t.encode(true) }

func (t *Topology) encode(names bool) []byte {
	b, err := json.Marshal(t.encoding(names))
	if err != nil {
		panic(err) // can't fail: it has only finite numbers
	}
	return b
}

// Decode reads the output of Encode. It returns an error for any other form,
// and for a topology that violates the package's invariants.
func Decode(text []byte) (*Topology, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var enc encoding
	if err := d.Decode(&enc); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("topology: more after its end")
	}
	if enc.Schema != encodingSchema {
		return nil, fmt.Errorf("topology: schema %q: want %q", enc.Schema, encodingSchema)
	}
	t := &Topology{
		Name: enc.Name, Nodes: enc.Nodes, Runtime: enc.Runtime, Arch: enc.Arch, CPU: enc.CPU, NICPath: enc.NICPath, NoMSCCLFiles: enc.NoFiles,
		Protocols: enc.Protocols,
	}
	for i, r := range enc.Ranks {
		if len(r) != 3 && len(r) != 4 {
			return nil, fmt.Errorf("topology %s: rank %d of %d parts: want node, local number, SMs, and memory where it is known", enc.Name, i, len(r))
		}
		rank := Rank{Node: int(r[0]), Local: int(r[1]), SMs: int(r[2])}
		if len(r) == 4 {
			rank.Memory = units.Bandwidth(r[3])
		}
		t.Ranks = append(t.Ranks, rank)
		t.Vertices = append(t.Vertices, Vertex{Kind: GPU, Node: rank.Node, Name: gpuName(rank.Local)})
	}
	for _, v := range enc.Vertices {
		t.Vertices = append(t.Vertices, Vertex(v))
	}
	t.Edges = enc.Edges
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("topology %s: %w", enc.Name, err)
	}
	if !bytes.Equal(t.Encode(), text) {
		return nil, fmt.Errorf("topology %s: not in its canonical form", enc.Name)
	}
	return t, nil
}

// Hash returns the SHA-256, in hexadecimal, of everything that affects
// messages: the graph and the protocols. Files that differ only in names and
// sources have equal hashes.
func (t *Topology) Hash() string {
	sum := sha256.Sum256(t.encode(false))
	return hex.EncodeToString(sum[:])
}

func gpuName(local int) string { return fmt.Sprintf("gpu %d", local) }
