package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/topologies/importer"
)

// maxImport limits what is read of a file or of standard input. The importer takes
// no more.
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
model where that is safe, and marked as inferred in the file. Elsewhere import ends
with an error that names the flag to give.

  colltune topology import ndv4-topo.xml --gpu a100 --nic 25GB/s --out ndv4.toml
  nvidia-smi topo -m | colltune topology import - --gpu h100 --nic 400Gb/s --nodes 4
  colltune topology import topo.txt --gpu h100 --ibstat ibstat.txt --hca mlx5_0`,
		Args: exactArgs("the FILE to import"),
		RunE: importTopology,
	}
	cmd.Flags().String("name", "", "name of the topology (default: the file's name)")
	cmd.Flags().String("gpu", "", "model of the GPUs, where the text does not say: a100, h100, mi300x, …")
	_ = cmd.RegisterFlagCompletionFunc("gpu", cobra.FixedCompletions(importer.ModelNames(), cobra.ShellCompDirectiveNoFileComp))
	choiceFlag(cmd, "cpu", "", "", []string{"intel", "amd", "arm", "power"}, "maker of the processors, where the text does not say")
	cmd.Flags().String("nic", "", "the NICs, where the text does not say: a bandwidth such as 25GB/s, 4x25GB/s for four a node, or none")
	cmd.Flags().String("ibstat", "", "a `FILE` with the output of ibstat or ibstatus: speed and state of each NIC")
	cmd.Flags().String("hca", "", "only these NICs, as in NCCL_IB_HCA: mlx5_0,mlx5_1, or ^mlx5_bond for all but those that begin so")
	cmd.Flags().Int("nodes", 0, "number of such nodes (default: 1)")
	cmd.Flags().String("out", "", "write the result to `FILE` instead of standard output")
	return cmd
}

// importTopology prints the topology file of a machine's description.
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

// importOptions reads what the flags add to a machine's description.
func importOptions(cmd *cobra.Command) (o importer.Options, err error) {
	o.Name, _ = cmd.Flags().GetString("name")
	o.GPU, _ = cmd.Flags().GetString("gpu")
	o.CPU, _ = cmd.Flags().GetString("cpu")
	o.Nodes, _ = cmd.Flags().GetInt("nodes")
	if o.Nodes < 0 || o.Nodes == 0 && cmd.Flags().Changed("nodes") {
		return o, usagef("--nodes %d: want at least 1", o.Nodes)
	}
	if written, _ := cmd.Flags().GetString("nic"); written != "" {
		n, err := importer.ParseNIC(written)
		if err != nil {
			return o, usagef("--nic: %w", err)
		}
		o.NIC = n
	}
	if written, _ := cmd.Flags().GetString("hca"); written != "" {
		h, err := importer.ParseHCA(written)
		if err != nil {
			return o, usagef("--hca: %w", err)
		}
		o.HCA = h
	}
	if path, _ := cmd.Flags().GetString("ibstat"); path != "" {
		text, err := readFile(cmd.Context(), path, maxImport)
		if err != nil {
			return o, err
		}
		o.IBStat = text
	}
	return o, nil
}
