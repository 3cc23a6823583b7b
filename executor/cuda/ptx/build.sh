#!/bin/sh
# Builds the kernels of every element type to PTX, and compresses it:
# ptx/build.sh [FOLDER], from the package's folder. Needs clang 16 (CLANG names
# another) and gzip; no CUDA toolkit. zcat ptx/f32.ptx.gz prints what was built.
# PTX ISA 6.0 is what CUDA 9 brought with the first GPUs that order memory
# (compute capability 7.0), so that any driver of theirs takes it.
set -eu
to=${1:-ptx}
for type in i8:I8 u8:U8 i32:I32 u32:U32 i64:I64 u64:U64 f16:F16 f32:F32 f64:F64 bf16:BF16; do
	text=$to/${type%:*}.ptx
	"${CLANG:-clang-16}" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 \
		-Xclang -target-feature -Xclang +ptx60 -std=c++17 -O3 -Wall -Wextra -Werror -Wno-unknown-pragmas \
		-DELEMENT="Element${type#*:}" -S kernel/kernels.cu -o "$text"
	gzip -9nf "$text"
done
