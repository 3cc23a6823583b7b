package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/topologies/importer"
)

// maxImport is the largest description of a machine, in bytes, as in the importer.
const maxImport = 4 << 20

func topologyImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a topology file from a machine's own description",
		Long: `import reads a machine's own description and prints a topology file:

  NCCL or RCCL topology XML   NCCL_TOPO_DUMP_FILE=dump.xml, or a cloud's file
  nvidia-smi topo -m          with --gpu, as the text does not name the GPU
  rocm-smi --showtopo         with --gpu

FILE may be - for standard input. What the text lacks is inferred from the GPU's
model where that is safe, and marked as inferred in the file. Otherwise import fails, and
the error names the flag to give.

  colltune topology import ndv4-topo.xml --gpu a100 --nic 25GB/s --out ndv4.toml
  nvidia-smi topo -m | colltune topology import - --gpu h100 --nic 400Gb/s --nodes 4
  colltune topology import topo.txt --gpu h100 --ibstat ibstat.txt --hca mlx5_0`,
		Args: exactArgs("the FILE to import"),
		RunE: importTopology,
	}
	cmd.Flags().String("name", "", "name of the topology (default: the file's name)")
	cmd.Flags().String("gpu", "", "model of the GPUs, if the text does not say: a100, h100, mi300x, …")
	_ = cmd.RegisterFlagCompletionFunc("gpu", cobra.FixedCompletions(importer.ModelNames(), cobra.ShellCompDirectiveNoFileComp))
	choiceFlag(cmd, "cpu", "", "", []string{"intel", "amd", "arm", "power"}, "maker of the processors, if the text does not say")
	cmd.Flags().String("nic", "", "the NICs, if the text does not say: a bandwidth such as 25GB/s, 4x25GB/s for four a node, or none")
	cmd.Flags().String("ibstat", "", "a `FILE` with the output of ibstat or ibstatus: speed and state of each NIC")
	cmd.Flags().String("hca", "", "only these NICs, as in NCCL_IB_HCA: mlx5_0,mlx5_1, or ^mlx5_bond for all but those with that prefix")
	cmd.Flags().Int("nodes", 0, "number of nodes like this one (default: 1)")
	outFlag(cmd)
	return cmd
}

// importTopology converts a machine's description to a topology file.
func importTopology(cmd *cobra.Command, args []string) error {
	o, err := importOptions(cmd)
	if err != nil {
		return err
	}
	file, text, err := readFileOrInput(cmd, args[0], maxImport)
	if err != nil {
		return err
	}
	r, err := importer.Import(file, text, o)
	if err != nil {
		return usage(err)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), n)
	}
	return writeOut(cmd, func(w io.Writer) error {
		_, err := w.Write(r.TOML)
		return err
	})
}

// importOptions reads the flags that complete a machine's description.
func importOptions(cmd *cobra.Command) (o importer.Options, err error) {
	o.Name, o.GPU, o.CPU = flagValue(cmd, "name"), flagValue(cmd, "gpu"), flagValue(cmd, "cpu")
	o.Nodes, _ = cmd.Flags().GetInt("nodes")
	if o.Nodes < 0 || o.Nodes == 0 && isSet(cmd, "nodes") {
		return o, usagef("--nodes %d: want at least 1", o.Nodes)
	}
	if written := flagValue(cmd, "nic"); written != "" {
		n, err := importer.ParseNIC(written)
		if err != nil {
			return o, usagef("--nic: %w", err)
		}
		o.NIC = n
	}
	if written := flagValue(cmd, "hca"); written != "" {
		h, err := importer.ParseHCA(written)
		if err != nil {
			return o, usagef("--hca: %w", err)
		}
		o.HCA = h
	}
	if path := flagValue(cmd, "ibstat"); path != "" {
		text, err := readFile(cmd.Context(), path, maxImport)
		if err != nil {
			return o, err
		}
		o.IBStat = text
	}
	return o, nil
}
