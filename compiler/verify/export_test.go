package verify

// For tests that read files by package msccl, which imports this one.
var (
	Agree  = agree
	Mutate = mutate
)
