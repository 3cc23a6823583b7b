package verify_test

import (
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/verify"
)

// TestMutantsOfThirdPartyFiles: the verifier agrees with execution on files made by others,
// and on the same files with one change.
func TestMutantsOfThirdPartyFiles(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for ; dir != filepath.Dir(dir) && len(files) == 0; dir = filepath.Dir(dir) {
		files, _ = filepath.Glob(filepath.Join(dir, "shared", "data", "msccl_xml", "*.xml"))
	}
	if len(files) == 0 {
		t.Skip("no shared/data/msccl_xml above the working directory")
	}
	mutants := 5
	if testing.Short() {
		mutants = 1
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			program := func() *ir.Program {
				r, err := os.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				f, err := msccl.Read(r)
				if err != nil {
					t.Fatal(err)
				}
				p, _, err := f.Program(f.Placements()[0])
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			rng := rand.New(rand.NewSource(1))
			p := program()
			if err := verify.Check(p, verify.Options{}).Err(); err != nil {
				t.Fatal(err)
			}
			if err := verify.Agree(p, rng, 1); err != nil {
				t.Fatal(err)
			}
			for range mutants {
				p := program()
				what := verify.Mutate(p, rng)
				if err := verify.Agree(p, rng, 1); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
		})
	}
}
