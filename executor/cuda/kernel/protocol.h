// The protocols. A message consists of lines. A line carries bytes of one chunk and
// is moved by one or more lanes, each a thread with some words:
//
//	            bytes of a line   of them data   lanes    how the receiver knows
//	Simple                   16             16   1        the tail, before the data is read
//	LL                       16              8   1        a flag beside each 4 bytes
//	LL128                   128            120   8        a flag in the last 8 bytes
//
// load and store move a lane's part of a line from and to memory, left bytes at most.
// Only LL128 has lanes whose words are not all data.
//
// Call is a message's slot in its connection, and its number from 1, which its flags
// hold.
#pragma once

#include "wait.h"

struct Call {
    u64 slot;
    u64 number;
    bool ordered, system;
};

struct Simple {
    enum { lineBytes = 16, lineData = 16, lanes = 1, words = 2, unroll = 4, alignment = 16, counted = 1 };
    static DEVICE_MEMBER i64 laneData(u32) { return 16; }
    static DEVICE_MEMBER void load(u64 address, u32, i32, u64 *words) { load16(address, words); }
    static DEVICE_MEMBER void store(u64 address, u32, i32, const u64 *words) { store16(address, words); }
    static DEVICE_MEMBER void send(const Call &c, u32 line, u32, const u64 *words) { store16(c.slot + 16ull * line, words); }
    static DEVICE_MEMBER void prefetch(const Call &c, u32 line, u64 *words) { load16(c.slot + 16ull * line, words); }
    struct Looked {};
    static DEVICE_MEMBER void look(const Call &, u32, u32, Looked *) {}
    static DEVICE_MEMBER bool seen(const Call &, u32, const Looked &, u64 *) { return true; }
};

struct LL {
    enum { lineBytes = 16, lineData = 8, lanes = 1, words = 1, unroll = 2, alignment = 8, counted = 0 };
    static DEVICE_MEMBER i64 laneData(u32) { return 8; }
    static DEVICE_MEMBER void load(u64 address, u32, i32, u64 *words) { words[0] = ::load<u64>(address); }
    static DEVICE_MEMBER void store(u64 address, u32, i32, const u64 *words) { ::store<u64>(address, words[0]); }
    static DEVICE_MEMBER void send(const Call &c, u32 line, u32, const u64 *words) { storeLine(c.slot + 16ull * line, words[0], (u32)c.number); }
    static DEVICE_MEMBER void prefetch(const Call &, u32, u64 *) {}
    typedef Halves Looked;
    static DEVICE_MEMBER void look(const Call &c, u32 line, u32, Looked *looked) { lookLine(c.slot + 16ull * line, looked); }
    static DEVICE_MEMBER bool seen(const Call &c, u32, const Looked &looked, u64 *words) { return seenLine(looked, words, (u32)c.number); }
};

// The lanes of a line of LL128 must stay together: their stores are one
// transaction only where the warp makes them in one instruction.
struct LL128 {
    enum { lineBytes = 128, lineData = 120, lanes = LINE_LANES, words = 16 / LINE_LANES, unroll = 2, alignment = 8, counted = 0 };
    static DEVICE_MEMBER i64 laneData(u32 lane) { return lane == lanes - 1 ? 8 * words - 8 : 8 * words; }
    static DEVICE_MEMBER bool has(int word, u32 lane, i32 left) { return 8 * word < left && (word < words - 1 || lane != lanes - 1); }
    static DEVICE_MEMBER void load(u64 address, u32 lane, i32 left, u64 *w) {
#pragma unroll
        for (int i = 0; i < words; i++)
            if (has(i, lane, left)) w[i] = ::load<u64>(address + 8 * i);
    }
    static DEVICE_MEMBER void store(u64 address, u32 lane, i32 left, const u64 *w) {
#pragma unroll
        for (int i = 0; i < words; i++)
            if (has(i, lane, left)) ::store<u64>(address + 8 * i, w[i]);
    }
    static DEVICE_MEMBER u64 at(const Call &c, u32 line, u32 lane) { return c.slot + 128ull * line + 8ull * words * lane; }
    static DEVICE_MEMBER void send(const Call &c, u32 line, u32 lane, const u64 *data) {
        u64 w[words];
#pragma unroll
        for (int i = 0; i < words; i++) w[i] = data[i];
        if (lane == lanes - 1) w[words - 1] = c.number;
        storeLanes(at(c, line, lane), w);
    }
    static DEVICE_MEMBER void prefetch(const Call &, u32, u64 *) {}
    struct Looked { u64 words[16 / LINE_LANES]; };
    static DEVICE_MEMBER void look(const Call &c, u32 line, u32 lane, Looked *looked) { loadLanes(at(c, line, lane), looked->words); }
    static DEVICE_MEMBER bool seen(const Call &c, u32 lane, const Looked &looked, u64 *w) {
#pragma unroll
        for (int i = 0; i < words; i++) w[i] = looked.words[i];
        return lane != lanes - 1 || w[words - 1] == c.number;
    }
};

// arrived reports whether a line has come, and stores its data in words. look and
// seen are its two halves, for lines that are polled together.
template <class P> DEVICE bool arrived(const Call &c, u32 line, u32 lane, u64 *words) {
    typename P::Looked looked;
    P::look(c, line, lane, &looked);
    return P::seen(c, lane, looked, words);
}

// awaitLines polls n lines a thread, from first on, apart lines from one to the next
// and below end; false if the launch is given up.
template <class P, int n> DEVICE bool awaitLines(Watch &w, const Call &in, i32 from, u32 lane, u32 first, u32 apart, u32 end, u64 (&data)[n][P::words]) {
    if (P::lanes > 1) reconverge();
    for (u32 polls = 1;; polls++) {
        bool missing = false, lost = false;
#pragma unroll
        for (int u = 0; u < n; u++) {
            u32 line = first + u * apart;
            if (line < end && !arrived<P>(in, line, lane, data[u])) missing = true;
        }
        if (P::lanes == 1 && !missing) return true;
        if (missing && polls % POLLS_PER_LOOK == 0) lost = overdue(w, FOR_MESSAGE, from, 0);
        if (missing) pause();
        if (P::lanes > 1) {
            missing = anyOfWarp(missing);
            lost = anyOfWarp(lost);
        }
        if (lost) return false;
        if (!missing) return true;
    }
}
