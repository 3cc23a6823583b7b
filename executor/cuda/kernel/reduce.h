// Local reductions: chunks of the rank's own memory into another of them. A run of
// such steps into the same chunk is one step here: the target is read and written
// once, and the loads of the sources are in flight together.
#pragma once

#include "move.h"

template <class E> struct Reducer : Mover<Simple, E> {
    enum { elementBytes = sizeof(typename E::Stored) };
    DEVICE_MEMBER Reducer(const Transfer &transfer) : Mover<Simple, E>(transfer) {}

    // reducePlain reduces the plain lines, two lines of four sources a thread at a
    // time: as many bytes in flight as a copy has. Small elements have two sources
    // at a time: their arithmetic needs the registers.
    template <int reduction> DEVICE_MEMBER void reducePlain() const {
        const int lines = 2, together = sizeof(typename E::Stored) < 4 ? 2 : 4;
        u64 from = this->src.chunk.address + this->t.offset, to = this->dst.chunk.address + this->t.offset;
        for (u32 base = 0; base < this->plain; base += this->apart * lines) {
            u64 data[lines][2] = {};
            u32 first = base + this->mine;
#pragma unroll
            for (int u = 0; u < lines; u++) {
                u32 line = first + u * this->apart;
                if (line < this->plain) load16(to + 16ull * line, data[u]);
            }
#pragma unroll 1
            for (u32 s = 0; s < this->t.sources; s += together) {
                u64 others[together][lines][2] = {};
#pragma unroll
                for (int k = 0; k < together; k++) {
                    u64 at = from + (u64)(this->t.sourceApart * (i64)(s + k));
#pragma unroll
                    for (int u = 0; u < lines; u++) {
                        u32 line = first + u * this->apart;
                        if (s + k < this->t.sources && line < this->plain) load16(at + 16ull * line, others[k][u]);
                    }
                }
#pragma unroll
                for (int k = 0; k < together; k++) {
                    if (s + k >= this->t.sources) continue;
#pragma unroll
                    for (int u = 0; u < lines; u++) {
                        data[u][0] = combine<E, reduction>(data[u][0], others[k][u][0]);
                        data[u][1] = combine<E, reduction>(data[u][1], others[k][u][1]);
                    }
                }
            }
#pragma unroll
            for (int u = 0; u < lines; u++) {
                u32 line = first + u * this->apart;
                if (line < this->plain) store16(to + 16ull * line, data[u]);
            }
        }
    }

    // reduceOthers reduces the lines from begin on.
    DEVICE_MEMBER void reduceOthers(u32 begin) const {
#pragma unroll 1
        for (u32 line = begin + this->mine; line < this->lines; line += this->apart) {
            u32 piece = line / this->perPiece;
            i64 at = (i64)(line - piece * this->perPiece) * 16;
            i64 bytes = this->t.bytes - at < 16 ? this->t.bytes - at : 16;
            at += this->t.offset;
            Place from = this->place(this->t.src, this->t.srcChunk, this->t.srcStride, this->t.first + piece);
            Place into = this->place(this->t.dst, this->t.dstChunk, this->t.dstStride, this->t.first + piece);
            u64 data[2] = {}, other[2] = {};
            loadUnit<2>(data, into, at, bytes, elementBytes);
#pragma unroll 1
            for (u32 s = 0; s < this->t.sources; s++) {
                loadUnit<2>(other, from, at, bytes, elementBytes);
                from.chunk.address += (u64)this->t.sourceApart;
                data[0] = combineAny<E>(data[0], other[0], this->t.reduction);
                data[1] = combineAny<E>(data[1], other[1], this->t.reduction);
            }
            storeUnit<2>(into, data, at, bytes, elementBytes);
        }
    }
};

// reduceCall executes a call of a local reduction.
template <class E> DEVICE_CALL void reduceCall(const Transfer &t) {
    Reducer<E> r(t);
    if (r.plain > 0) {
        switch (t.reduction) {
        case PROD: r.template reducePlain<PROD>(); break;
        case MIN: r.template reducePlain<MIN>(); break;
        case MAX: r.template reducePlain<MAX>(); break;
        default: r.template reducePlain<SUM>(); break;
        }
    }
    r.reduceOthers(r.plain);
}

// divide turns a rank's sums into averages, each in elements from first on, apart
// elements from one to the next.
template <class E> DEVICE void divide(u64 results, u32 count, u64 first, u64 apart) {
    for (u32 i = 0; i < count; i++) {
        u64 at = results + sizeof(Result) * i;
        u64 address = load<u64>(at), elements = load<u64>(at + 8), terms = load<u64>(at + 16);
        for (u64 e = first; e < elements; e += apart) {
            typedef typename E::Stored Stored;
            u64 where = address + e * sizeof(Stored);
            store<Stored>(where, E::narrow(divided(E::widen(load<Stored>(where)), terms)));
        }
    }
}
