// The names that the device compilers have for the same things: clang builds the
// embedded kernels, NVRTC builds them on the user's machine.
#pragma once

#if defined(__CUDACC_RTC__)

#define DEVICE static __device__ __forceinline__
#define DEVICE_MEMBER __device__ __forceinline__
#define DEVICE_CALL static __device__ __noinline__
#define KERNEL extern "C" __global__
#define SHARED __shared__
#define THREADS_AT_MOST(n) __launch_bounds__(n)

#define THREAD_INDEX threadIdx.x
#define THREAD_COUNT blockDim.x
#define BLOCK_INDEX blockIdx.x
#define BLOCK_COUNT gridDim.x
#define BARRIER_OR(p) __syncthreads_or(p)
#define WARP_ANY(p) __any_sync(0xffffffffu, p)
#define WARP_BARRIER() __syncwarp(0xffffffffu)

template <typename To, typename From> DEVICE To bitsOfAny(From from) {
    union { From from; To to; } both;
    both.from = from;
    return both.to;
}
// GlobalAccess names the address space of loads and stores: from an integer address
// NVRTC would make generic ones, which find out at run time.
template <int bytes> struct GlobalAccess;
#define GLOBAL_ACCESS(bytes, name, type, constraint)                                                                                   \
    template <> struct GlobalAccess<bytes> {                                                                                           \
        typedef type Bits;                                                                                                             \
        static DEVICE_MEMBER Bits load(u64 address) {                                                                                  \
            Bits v;                                                                                                                    \
            asm volatile("ld.global." name " %0, [%1];" : "=" constraint(v) : "l"(address) : "memory");                                \
            return v;                                                                                                                  \
        }                                                                                                                              \
        static DEVICE_MEMBER void store(u64 address, Bits v) { asm volatile("st.global." name " [%0], %1;" ::"l"(address), constraint(v) : "memory"); } \
    };
GLOBAL_ACCESS(1, "u8", u16, "h")
GLOBAL_ACCESS(2, "u16", u16, "h")
GLOBAL_ACCESS(4, "u32", u32, "r")
GLOBAL_ACCESS(8, "u64", u64, "l")
#undef GLOBAL_ACCESS
template <typename T> DEVICE T loadGlobal(u64 address) { return bitsOfAny<T>(GlobalAccess<sizeof(T)>::load(address)); }
template <typename T> DEVICE void storeGlobal(u64 address, T v) { GlobalAccess<sizeof(T)>::store(address, bitsOfAny<typename GlobalAccess<sizeof(T)>::Bits>(v)); }
template <typename T> DEVICE void stage16(T *p, u32 i, const u64 *words) {
    ((ulonglong2 *)p)[i] = make_ulonglong2(words[0], words[1]);
}

#else

#define DEVICE __attribute__((device)) inline __attribute__((always_inline))
#define DEVICE_MEMBER __attribute__((device)) inline __attribute__((always_inline))
#define DEVICE_CALL __attribute__((device, noinline)) static
#define KERNEL extern "C" __attribute__((global))
#define SHARED __attribute__((shared))
#define THREADS_AT_MOST(n) __attribute__((launch_bounds(n)))

#define THREAD_INDEX __nvvm_read_ptx_sreg_tid_x()
#define THREAD_COUNT __nvvm_read_ptx_sreg_ntid_x()
#define BLOCK_INDEX __nvvm_read_ptx_sreg_ctaid_x()
#define BLOCK_COUNT __nvvm_read_ptx_sreg_nctaid_x()
#define BARRIER_OR(p) __nvvm_bar0_or(p)
#define WARP_ANY(p) __nvvm_vote_any_sync(0xffffffffu, p)
#define WARP_BARRIER() __nvvm_bar_warp_sync(0xffffffffu)

template <typename T> DEVICE T loadGlobal(u64 address) { return *(__attribute__((address_space(1))) const T *)address; }
template <typename T> DEVICE void storeGlobal(u64 address, T v) { *(__attribute__((address_space(1))) T *)address = v; }
typedef u64 TwoWords __attribute__((vector_size(16)));
template <typename T> DEVICE void stage16(T *p, u32 i, const u64 *words) {
    ((__attribute__((address_space(3))) TwoWords *)p)[i] = TwoWords{words[0], words[1]};
}

#endif
