// The machine is a GPU of compute capability 7.0 and more, whose loads and
// stores have an order and a scope (PTX ISA, "Memory Consistency Model"). No
// header of the toolkit is needed: the compiler's builtins and PTX are enough.
// compiler.h has what clang and NVRTC name differently.
#pragma once

#include "compiler.h"

// A line of LL128 is written by eight threads of a warp, in one transaction.
#define LINE_LANES 8

// The most steps that a block keeps in shared memory.
#define STAGED_STEPS 96

// The records in shared memory that a thread loads: from STAGES_FROM on, STAGES_APART
// from one to the next.
#define STAGES_FROM threadIndex()
#define STAGES_APART threadCount()

// Polls between two reads of the clock, and reads of the clock between two of the
// host's memory, which are slow.
#define POLLS_PER_LOOK 1024
#define LOOKS_PER_CANCEL 64

DEVICE u32 threadIndex() { return THREAD_INDEX; }
DEVICE u32 threadCount() { return THREAD_COUNT; }
DEVICE u32 blockIndex() { return BLOCK_INDEX; }
DEVICE u32 blockCount() { return BLOCK_COUNT; }

DEVICE void barrier() { __syncthreads(); }
// barrierOr is a barrier that reports whether any thread of the block came with bad
// set.
DEVICE bool barrierOr(bool bad) { return BARRIER_OR(bad) != 0; }
// anyOfWarp reports whether p holds for any thread of the warp.
DEVICE bool anyOfWarp(bool p) { return WARP_ANY(p); }
DEVICE void reconverge() { WARP_BARRIER(); }

DEVICE void pause() {}

DEVICE u64 nanoseconds() {
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}

// Counters and semaphores. System scope reaches other devices.
DEVICE u64 loadAcquire(u64 address, bool system) {
    u64 v;
    if (system)
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
    else
        asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
    return v;
}
// loadRelaxed is for counters that order no other access.
DEVICE u64 loadRelaxed(u64 address, bool system) {
    u64 v;
    if (system)
        asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
    else
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
    return v;
}
// post is a relaxed store: where it hands memory over, publish comes before it. For
// lines of LL and LL128 that were read no fence is needed: each was compared with
// its flag before the barrier that precedes the post.
DEVICE void post(u64 address, u64 v, bool system) {
    if (system)
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
    else
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
}
// publish is a fence: it orders the block's earlier accesses before the next post.
DEVICE void publish(bool system) {
    if (system)
        asm volatile("fence.acq_rel.sys;" ::: "memory");
    else
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
// beginLines sets the Order of the lines that follow; nothing to do on a GPU.
DEVICE void beginLines(u32) {}
// orderLines is the fence with which lines order other accesses.
DEVICE void orderLines(bool system) { publish(system); }
DEVICE void addCount(u64 address, u64 v) {
    u64 old;
    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(address), "l"(v) : "memory");
}
DEVICE bool claim(u64 address) {
    u32 old;
    asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(address) : "memory");
    return old == 0;
}
DEVICE u32 loadVolatile(u64 address) {
    u32 v;
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(v) : "l"(address) : "memory");
    return v;
}
DEVICE void storeVolatile(u64 address, u32 v) {
    asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
}

// A line of LL: two words of data, each with its flag, each pair written whole.
DEVICE void storeLine(u64 address, u64 data, u32 flag) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"((u32)data), "r"(flag),
                 "r"((u32)(data >> 32)), "r"(flag)
                 : "memory");
}
struct Halves { u32 low, lowFlag, high, highFlag; };
DEVICE void lookLine(u64 address, Halves *h) {
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(h->low), "=r"(h->lowFlag), "=r"(h->high), "=r"(h->highFlag) : "l"(address) : "memory");
}
DEVICE bool seenLine(const Halves &h, u64 *data, u32 flag) {
    *data = (u64)h.high << 32 | h.low;
    return h.lowFlag == flag && h.highFlag == flag;
}
DEVICE bool loadLine(u64 address, u64 *data, u32 flag) {
    Halves h;
    lookLine(address, &h);
    return seenLine(h, data, flag);
}
// A lane's part of a line of LL128: 16 bytes of the 128.
DEVICE void storeLanes(u64 address, const u64 *words) {
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(words[0]), "l"(words[1]) : "memory");
}
DEVICE void loadLanes(u64 address, u64 *words) {
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(words[0]), "=l"(words[1]) : "l"(address) : "memory");
}

// Loads and stores of data, which counters and flags order.
template <typename T> DEVICE T load(u64 address) { return loadGlobal<T>(address); }
template <typename T> DEVICE void store(u64 address, T v) { storeGlobal<T>(address, v); }
DEVICE void load16(u64 address, u64 *words) {
    asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(words[0]), "=l"(words[1]) : "l"(address) : "memory");
}
DEVICE void store16(u64 address, const u64 *words) {
    asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(words[0]), "l"(words[1]) : "memory");
}

// Half precision is the machine's own.
DEVICE float halfToFloat(u16 h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
DEVICE u16 floatToHalf(float f) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
