package cuda

import "github.com/colltune/colltune/executor/data"

// elementStructs are the types of kernel/elements.h.
var elementStructs = [...]string{
	data.I8: "ElementI8", data.U8: "ElementU8", data.I32: "ElementI32", data.U32: "ElementU32", data.I64: "ElementI64", data.U64: "ElementU64",
	data.F16: "ElementF16", data.F32: "ElementF32", data.F64: "ElementF64", data.BF16: "ElementBF16",
}

func elementStruct(d data.DType) string { return elementStructs[d] }
