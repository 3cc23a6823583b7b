package topotest

import "github.com/colltune/colltune/topologies"

// pairs is a server of 4 GPUs, each on a PCIe switch with a NIC of its own, and
// joined by NVLink two by two: all else goes through one narrow processor.
const pairs = `
name    = "pairs"
nodes   = 1
runtime = "nccl"
arch    = "ampere"

[node]
gpus   = 4
sms    = 108
source = "made up"

[[node.switch]]
name   = "cpu"
source = "made up"

[[node.switch]]
name      = "pcie 0"
gpus      = [0]
kind      = "pcie"
bandwidth = "24 GB/s"
latency   = "0.5 us"
source    = "made up"

[[node.switch]]
name      = "pcie 1"
gpus      = [1]
kind      = "pcie"
bandwidth = "24 GB/s"
latency   = "0.5 us"
source    = "made up"

[[node.switch]]
name      = "pcie 2"
gpus      = [2]
kind      = "pcie"
bandwidth = "24 GB/s"
latency   = "0.5 us"
source    = "made up"

[[node.switch]]
name      = "pcie 3"
gpus      = [3]
kind      = "pcie"
bandwidth = "24 GB/s"
latency   = "0.5 us"
source    = "made up"

[[node.link]]
pairs     = [["pcie 0", "cpu"], ["pcie 1", "cpu"], ["pcie 2", "cpu"], ["pcie 3", "cpu"]]
kind      = "host"
bandwidth = "10 GB/s"
latency   = "0.5 us"
source    = "made up"

[[node.link]]
pairs     = [[0, 2], [1, 3]]
kind      = "nvlink"
bandwidth = "50 GB/s"
latency   = "0.5 us"
source    = "made up"

[[node.nic]]
at        = ["pcie 0", "pcie 1", "pcie 2", "pcie 3"]
bandwidth = "25 GB/s"
latency   = "0.7 us"
message   = "1 us"
source    = "made up"
` + around

// pairsAlone is two servers of 4 GPUs, each with a NIC of its own, that NVLink
// joins two by two; nothing joins one two to the other.
const pairsAlone = `
name    = "pairs-alone"
nodes   = 2
runtime = "nccl"
arch    = "ampere"

[node]
gpus   = 4
sms    = 108
source = "made up"

[[node.link]]
pairs     = [[0, 1], [2, 3]]
kind      = "nvlink"
bandwidth = "50 GB/s"
latency   = "0.5 us"
source    = "made up"

[[node.nic]]
serves    = [[0], [1], [2], [3]]
bandwidth = "25 GB/s"
latency   = "0.7 us"
message   = "1 us"
source    = "made up"
` + around

// around is what joins the servers, and how their GPUs send.
const around = `
[fabric]
name    = "ethernet"
latency = "1.3 us"
source  = "made up"

[protocol]
like   = "dgx-a100"
source = "made up"
`

// Pairs returns nodes of 4 GPUs, each with its own NIC on its own PCIe switch.
// NVLink joins the GPUs in pairs; other traffic crosses one narrow processor.
func Pairs(t TB, nodes int) *topologies.Topology {
	t.Helper()
	return read(t, pairs, topologies.Options{Nodes: nodes})
}

// PairsAlone returns two nodes of 4 GPUs, each with its own NIC. NVLink joins
// the GPUs in pairs, and no link within the node joins two pairs.
func PairsAlone(t TB) *topologies.Topology {
	t.Helper()
	return read(t, pairsAlone, topologies.Options{})
}

func read(t TB, file string, o topologies.Options) *topologies.Topology {
	t.Helper()
	topology, err := topologies.Read("pairs.toml", []byte(file), o)
	if err != nil {
		t.Fatal(err)
	}
	return topology
}
