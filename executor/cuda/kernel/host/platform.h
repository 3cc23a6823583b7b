// The host build: a thread of the grid is a thread of the system, and orders are
// those of the C++ memory model, so that the thread sanitizer can judge what the
// interpreter relies on. Lines of LL and LL128 are atomic words, data is plain
// memory.
#pragma once

#include <sched.h>
#include <string.h>
#include <time.h>

#define DEVICE static inline
#define DEVICE_MEMBER inline
#define DEVICE_CALL static inline
#define KERNEL static
#define SHARED static thread_local
#define THREADS_AT_MOST(n)

// One thread writes a whole line of LL128.
#define LINE_LANES 1
#define STAGED_STEPS 0

// Shared memory is per thread here: each loads all records.
#define STAGES_FROM 0
#define STAGES_APART 1

// Polls between two reads of the clock, and reads of the clock between two of the
// status. Few: each poll yields to other threads.
#define POLLS_PER_LOOK 16
#define LOOKS_PER_CANCEL 4

// A block of the grid: its size and its barrier.
struct HostBlock {
    u32 index, blocks, threads;
    void (*meet)(HostBlock *);
    // Votes of barrierOr, used in turn: one is read while the next is gathered.
    u32 votes[3];
};
struct HostThread {
    HostBlock *block;
    u32 index;
    u32 round;
};
extern thread_local HostThread hostThread;

DEVICE u32 threadIndex() { return hostThread.index; }
DEVICE u32 threadCount() { return hostThread.block->threads; }
DEVICE u32 blockIndex() { return hostThread.block->index; }
DEVICE u32 blockCount() { return hostThread.block->blocks; }

DEVICE void barrier() { hostThread.block->meet(hostThread.block); }
DEVICE bool barrierOr(bool bad) {
    HostBlock *b = hostThread.block;
    u32 now = hostThread.round % 3, next = (now + 1) % 3;
    hostThread.round++;
    if (bad) __atomic_store_n(&b->votes[now], 1, __ATOMIC_RELAXED);
    barrier();
    bool any = __atomic_load_n(&b->votes[now], __ATOMIC_RELAXED) != 0;
    // No thread votes two barriers on before all have passed the next one.
    if (hostThread.index == 0) __atomic_store_n(&b->votes[(next + 1) % 3], 0, __ATOMIC_RELAXED);
    return any;
}
DEVICE bool anyOfWarp(bool p) { return p; }
DEVICE void reconverge() {}

DEVICE void pause() { sched_yield(); }

DEVICE u64 nanoseconds() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

DEVICE u64 loadAcquire(u64 address, bool) {
    u64 v = __atomic_load_n((u64 *)address, __ATOMIC_ACQUIRE);
    return v;
}
DEVICE u64 loadRelaxed(u64 address, bool) { return __atomic_load_n((u64 *)address, __ATOMIC_RELAXED); }
DEVICE void publish(bool) {}
DEVICE void post(u64 address, u64 v, bool) { __atomic_store_n((u64 *)address, v, __ATOMIC_RELEASE); }
DEVICE void addCount(u64 address, u64 v) { __atomic_fetch_add((u64 *)address, v, __ATOMIC_RELEASE); }
DEVICE bool claim(u64 address) {
    u32 none = 0;
    return __atomic_compare_exchange_n((u32 *)address, &none, 1u, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
DEVICE u32 loadVolatile(u64 address) { return __atomic_load_n((u32 *)address, __ATOMIC_RELAXED); }
DEVICE void storeVolatile(u64 address, u32 v) { __atomic_store_n((u32 *)address, v, __ATOMIC_RELAXED); }

// The thread sanitizer knows no fences: where lines have to order memory, their own
// words are released and acquired.
extern thread_local bool hostOrdered;
DEVICE void beginLines(u32 order) { hostOrdered = order != UNORDERED; }
DEVICE void orderLines(bool) {}
DEVICE int lineStoreOrder() { return hostOrdered ? __ATOMIC_RELEASE : __ATOMIC_RELAXED; }
DEVICE int lineLoadOrder() { return hostOrdered ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED; }

DEVICE void storeLine(u64 address, u64 data, u32 flag) {
    u64 *at = (u64 *)address;
    __atomic_store_n(at, (u64)flag << 32 | (u32)data, lineStoreOrder());
    __atomic_store_n(at + 1, (u64)flag << 32 | data >> 32, lineStoreOrder());
}
struct Halves { u64 low, high; };
DEVICE void lookLine(u64 address, Halves *h) {
    u64 *at = (u64 *)address;
    h->low = __atomic_load_n(at, lineLoadOrder());
    h->high = __atomic_load_n(at + 1, lineLoadOrder());
}
DEVICE bool seenLine(const Halves &h, u64 *data, u32 flag) {
    *data = h.high << 32 | (u32)h.low;
    return h.low >> 32 == flag && h.high >> 32 == flag;
}
DEVICE bool loadLine(u64 address, u64 *data, u32 flag) {
    Halves h;
    lookLine(address, &h);
    return seenLine(h, data, flag);
}
// A GPU writes a line of 128 bytes at once. Here its last word, the flag, is written
// last and read first.
DEVICE void storeLanes(u64 address, const u64 *words) {
    u64 *at = (u64 *)address;
    for (int i = 0; i < 15; i++) __atomic_store_n(at + i, words[i], __ATOMIC_RELAXED);
    __atomic_store_n(at + 15, words[15], __ATOMIC_RELEASE);
}
DEVICE void loadLanes(u64 address, u64 *words) {
    u64 *at = (u64 *)address;
    words[15] = __atomic_load_n(at + 15, __ATOMIC_ACQUIRE);
    for (int i = 0; i < 15; i++) words[i] = __atomic_load_n(at + i, __ATOMIC_RELAXED);
}

template <typename T> DEVICE T load(u64 address) { return *(const T *)address; }
template <typename T> DEVICE void store(u64 address, T v) { *(T *)address = v; }
DEVICE void load16(u64 address, u64 *words) {
    words[0] = load<u64>(address);
    words[1] = load<u64>(address + 8);
}
DEVICE void store16(u64 address, const u64 *words) {
    store<u64>(address, words[0]);
    store<u64>(address + 8, words[1]);
}

// Half precision in software: round to nearest, ties to even.
DEVICE float halfToFloat(u16 h) {
    u32 sign = (u32)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    u32 bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | fraction << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else {
        float f = (float)fraction * 5.9604644775390625e-8f; // 2^-24
        memcpy(&bits, &f, 4);
        bits |= sign;
    }
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
DEVICE u16 floatToHalf(float f) {
    u32 bits;
    memcpy(&bits, &f, 4);
    u32 sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (u16)(sign | 0x7fff);
    if (magnitude >= 0x477ff000) return (u16)(sign | 0x7c00); // rounds to infinity
    u32 shift = 13, whole = magnitude - (112u << 23);
    if (magnitude < 0x38800000) { // below the least normal number
        u32 exponent = magnitude >> 23;
        if (exponent < 102) return (u16)sign;
        whole = (magnitude & 0x7fffff) | 0x800000;
        shift = 126 - exponent;
    }
    u32 rest = whole & ((1u << shift) - 1), half = 1u << (shift - 1), kept = whole >> shift;
    if (rest > half || (rest == half && (kept & 1))) kept++;
    return (u16)(sign | kept);
}
