// The inner loop: one call of a step. Data from memory, from the connection or from
// both is reduced in registers and goes to memory, to the connection or to both.
#pragma once

#include "elements.h"
#include "memory.h"
#include "protocol.h"

// Transfer is one call: the same part of one or more chunks. It holds no address of
// a local variable: such a variable would live in memory, not in registers.
struct Transfer {
    u64 chunks;               // address of the table
    Chunk src, dst;           // of the step, its first
    u32 srcChunk, dstChunk;   // entries of the table
    i32 srcStride, dstStride; // in entries
    u32 reduction;
    u32 first, pieces;      // chunks of the step
    i64 offset, bytes;      // the part of a chunk
    i64 chunkBytes;         // of a whole one
    bool receives, sends;   // the connection
    bool loads, stores;     // src; dst
    u32 sources;            // of a local reduction: chunks that are reduced into dst
    i64 sourceApart;
    Call in, out;
    i32 from; // the rank received from
};

// COPIES stands for a reduction where there is none.
#define COPIES (-1)

// combineAny is combine for a reduction that is known at run time only.
template <class E> DEVICE_CALL u64 combineAny(u64 a, u64 b, u32 reduction) {
    switch (reduction) {
    case PROD: return combine<E, PROD>(a, b);
    case MIN: return combine<E, MIN>(a, b);
    case MAX: return combine<E, MAX>(a, b);
    default: return combine<E, SUM>(a, b);
    }
}

// Mover is a call as one thread sees it. Plain lines (whole, aligned, of one chunk)
// are moved several at a time by code without special cases, all others one by one.
template <class P, class E> struct Mover {
    enum { elementBytes = sizeof(typename E::Stored), words = P::words };
    const Transfer t; // a copy, in registers
    Place src, dst; // of the first chunk
    u32 perPiece;   // lines of a chunk
    u32 lines;
    u32 plain; // those that are plain: the first
    u32 lane, mine, apart;

    DEVICE_MEMBER Mover(const Transfer &transfer) : t(transfer) {
        perPiece = (u32)((t.bytes + P::lineData - 1) / P::lineData);
        lines = perPiece * t.pieces;
        lane = threadIndex() % P::lanes;
        mine = threadIndex() / P::lanes;
        apart = threadCount() / P::lanes;
        src = place(t.src, t.srcChunk, t.srcStride, t.first);
        dst = place(t.dst, t.dstChunk, t.dstStride, t.first);
        plain = 0;
        if (t.pieces == 1) {
            i64 whole = t.bytes;
            if (t.loads) whole = shortest(whole, src);
            if (t.stores) whole = shortest(whole, dst);
            plain = (u32)(whole / P::lineData);
        }
    }

    // shortest is the lesser of bytes and what is plain of a place.
    DEVICE_MEMBER i64 shortest(i64 bytes, const Place &p) const {
        if ((p.chunk.address + t.offset) % P::alignment != 0 || t.sourceApart % P::alignment != 0) return 0;
        return p.inPlace - t.offset < bytes ? p.inPlace - t.offset : bytes;
    }

    // place is the i-th chunk of the step, in a table of chunks.
    DEVICE_MEMBER Place place(const Chunk &first, u32 entry, i32 stride, u32 i) const {
        Place p;
        p.chunk = first;
        if (i != 0) {
            u64 both[2];
            load16(t.chunks + sizeof(Chunk) * (u64)((i64)entry + (i64)stride * i), both);
            p.chunk.address = both[0];
            p.chunk.aside = both[1];
        }
        p.inPlace = t.chunkBytes - (p.chunk.aside != 0 ? (i64)elementBytes : 0);
        return p;
    }

    // movePlain moves the plain lines; false if the launch is given up. Loads are in
    // flight while a message is awaited.
    template <int reduction> DEVICE_MEMBER bool movePlain(Watch &w) const {
        // The arithmetic of small elements needs the registers of half the lines.
        const int n = reduction != COPIES && elementBytes < 4 && P::counted ? P::unroll / 2 : P::unroll;
        u64 from = src.chunk.address + t.offset, to = dst.chunk.address + t.offset;
        for (u32 base = 0; base < plain; base += apart * n) {
            u64 data[n][words] = {}, other[n][words] = {};
            u32 first = base + mine;
#pragma unroll
            for (int u = 0; u < n; u++) {
                u32 line = first + u * apart;
                if (line >= plain) continue;
                u64 at = (u64)line * P::lineData + 8 * words * lane;
                if (t.receives) P::prefetch(t.in, line, data[u]);
                if (reduction != COPIES)
                    P::load(from + at, lane, P::lineBytes, other[u]);
                else if (!t.receives)
                    P::load(from + at, lane, P::lineBytes, data[u]);
            }
            if (t.receives && !awaitLines<P, n>(w, t.in, t.from, lane, first, apart, plain, data)) return false;
#pragma unroll
            for (int u = 0; u < n; u++) {
                u32 line = first + u * apart;
                if (reduction != COPIES) {
#pragma unroll
                    for (int i = 0; i < words; i++) data[u][i] = combine<E, reduction>(data[u][i], other[u][i]);
                }
                if (t.stores && line < plain) P::store(to + (u64)line * P::lineData + 8 * words * lane, lane, P::lineBytes, data[u]);
                if (P::lanes > 1) reconverge();
                if (t.sends && line < plain) P::send(t.out, line, lane, data[u]);
            }
        }
        return true;
    }

    // moveOthers moves the lines from begin on; false if the launch is given up.
    DEVICE_MEMBER bool moveOthers(Watch &w, u32 begin, bool reduces) const {
        // The message may tell that this memory is ready: then it is loaded after the
        // message has come.
        bool late = t.receives && t.in.ordered;
#pragma unroll 1
        for (u32 base = begin; base < lines; base += apart) {
            u64 data[1][words] = {}, other[words] = {};
            u32 line = base + mine;
            bool there = line < lines;
            u32 piece = t.pieces == 1 || !there ? 0 : line / perPiece;
            i64 at = (i64)(line - piece * perPiece) * P::lineData + 8 * words * (i64)lane;
            i64 bytes = t.bytes - at < P::laneData(lane) ? t.bytes - at : P::laneData(lane);
            at += t.offset;
            bool some = there && bytes > 0;
            if (there && t.receives) P::prefetch(t.in, line, data[0]);
            if (late) {
                if (!awaitLines<P, 1>(w, t.in, t.from, lane, line, apart, lines, data)) return false;
                orderLines(t.in.system);
            }
            if (some && t.loads) loadUnit<words>(other, piece == 0 ? src : place(t.src, t.srcChunk, t.srcStride, t.first + piece), at, bytes, elementBytes);
            if (t.receives && !late && !awaitLines<P, 1>(w, t.in, t.from, lane, line, apart, lines, data)) return false;
            Place into = piece == 0 ? dst : place(t.dst, t.dstChunk, t.dstStride, t.first + piece);
#pragma unroll
            for (int i = 0; i < words; i++) {
                if (reduces)
                    data[0][i] = combineAny<E>(data[0][i], other[i], t.reduction);
                else if (!t.receives)
                    data[0][i] = other[i];
            }
            if (some && t.stores) storeUnit<words>(into, data[0], at, bytes, elementBytes);
            if (P::lanes > 1) reconverge();
            if (there && t.sends) P::send(t.out, line, lane, data[0]);
        }
        return true;
    }
};

// moveCall executes a call; false if the launch is given up, which only protocols
// that poll lines (LL, LL128) find out here.
template <class P, class E> DEVICE_CALL bool moveCall(Watch &w, const Transfer &t, bool reduces) {
    Mover<P, E> m(t);
    if (t.sends && t.out.ordered) orderLines(t.out.system);
    u32 plain = t.receives && t.in.ordered ? 0 : m.plain;
    if (plain > 0) {
        bool moved;
        switch (reduces ? (int)t.reduction : COPIES) {
        case COPIES: moved = m.template movePlain<COPIES>(w); break;
        case PROD: moved = m.template movePlain<PROD>(w); break;
        case MIN: moved = m.template movePlain<MIN>(w); break;
        case MAX: moved = m.template movePlain<MAX>(w); break;
        default: moved = m.template movePlain<SUM>(w); break;
        }
        if (!moved) return false;
    }
    return m.moveOthers(w, plain, reduces);
}
