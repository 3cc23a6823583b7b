// Small steps: one tile of one chunk, of whole words at aligned addresses, and at
// most one line per thread. The host marks them (SMALL). Little is computed between
// two messages: on the critical path of an all-pairs of a kilobyte every instruction
// counts.
#pragma once

#include "elements.h"
#include "memory.h"
#include "protocol.h"

template <class E, int reduction, int n> DEVICE void combineWords(u64 (&into)[n], const u64 (&other)[n]) {
#pragma unroll
    for (int i = 0; i < n; i++) into[i] = combine<E, reduction>(into[i], other[i]);
}

// Line is a small step's message as one thread sees it.
template <class P, class E> struct Line {
    enum { words = P::words };
    u32 lane, line, lines, at;
    i32 left; // bytes
    u64 data[1][words], other[words];

    // Loads are issued before anything is awaited.
    DEVICE_MEMBER Line(const Step &step) {
        lane = threadIndex() % P::lanes;
        line = threadIndex() / P::lanes;
        lines = (step.bytes + P::lineData - 1) / P::lineData;
        at = line * P::lineData + 8 * words * lane;
        left = (i32)(step.bytes - at);
#pragma unroll
        for (int i = 0; i < words; i++) data[0][i] = other[i] = 0;
        if (line < lines && (step.does & LOADS)) P::load(step.src.address + at, lane, left, other);
    }

    // move receives, reduces, stores and sends; false if the launch is given up.
    DEVICE_MEMBER bool move(Watch &w, const Step &step, const Call &in, const Call &out, i32 from, u32 reduction) {
        bool there = line < lines;
        if (P::lanes == 1 && !there) return true; // LL128: the lanes of a line must stay together
        if (step.does & RECEIVES) {
            if (there) P::prefetch(in, line, data[0]);
            if (!awaitLines<P, 1>(w, in, from, lane, line, 0, lines, data)) return false;
        }
        if (step.does & REDUCES) {
            if (reduction == SUM || reduction == AVG)
                combineWords<E, SUM>(data[0], other);
            else if (reduction == PROD)
                combineWords<E, PROD>(data[0], other);
            else if (reduction == MIN)
                combineWords<E, MIN>(data[0], other);
            else
                combineWords<E, MAX>(data[0], other);
        } else if (!(step.does & RECEIVES)) {
#pragma unroll
            for (int i = 0; i < words; i++) data[0][i] = other[i];
        }
        if (there && (step.does & STORES)) P::store(step.dst.address + at, lane, left, data[0]);
        if (P::lanes > 1) reconverge();
        if (there && (step.does & SENDS)) P::send(out, line, lane, data[0]);
        return true;
    }
};

// copySmall runs a small step that copies a chunk within the rank.
DEVICE void copySmall(const Step &step) {
    u32 at = Simple::lineData * threadIndex();
    if (at >= step.bytes) return;
    u64 data[2];
    load16(step.src.address + at, data);
    store16(step.dst.address + at, data);
}

// reduceLine reduces a line of all sources into the target, with the loads of several
// sources in flight. Loads and sums test the same condition in different words:
// where they share a predicate, ptxas makes each load wait for the sum before it.
template <class E, int reduction> DEVICE void reduceLine(u64 from, u64 to, u32 sources, u32 apart) {
    const u32 together = sizeof(typename E::Stored) < 4 ? 4 : 8;
    u32 last = (sources - 1) * apart;
    u64 data[2];
    load16(to, data);
#pragma unroll 1
    for (u32 s = 0; s < sources; s += together) {
        u64 others[together][2] = {};
#pragma unroll
        for (u32 k = 0; k < together; k++)
            if ((s + k) * apart <= last) load16(from + (s + k) * apart, others[k]);
#pragma unroll
        for (u32 k = 0; k < together; k++)
            if (s + k < sources) combineWords<E, reduction>(data, others[k]);
    }
    store16(to, data);
}

// reduceSmall runs a small step that reduces chunks within the rank.
template <class E> DEVICE_CALL void reduceSmall(u64 from, u64 to, u32 bytes, u32 sources, u32 apart, u32 reduction) {
    u32 at = Simple::lineData * threadIndex();
    if (at >= bytes) return;
    if (reduction == SUM || reduction == AVG)
        reduceLine<E, SUM>(from + at, to + at, sources, apart);
    else if (reduction == PROD)
        reduceLine<E, PROD>(from + at, to + at, sources, apart);
    else if (reduction == MIN)
        reduceLine<E, MIN>(from + at, to + at, sources, apart);
    else
        reduceLine<E, MAX>(from + at, to + at, sources, apart);
}
