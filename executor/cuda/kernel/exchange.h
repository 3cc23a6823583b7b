// Exchanges: a rank's whole program in one block, where each chunk and message is at
// most one whole, aligned line per thread. A thread handles the same bytes of every
// chunk and message, so that no thread waits for another of its block and nothing
// is handed over between them. Messages that are reduced into one value are polled
// together and reduced straight from their slots.
#pragma once

#include "reduce.h"
#include "small.h"

// The most records that a block keeps in shared memory; the host makes no exchange
// of more.
#define MOST_PARTS 64
#define MOST_ARMS 64

// The number of messages that are polled or sent together.
#define ROW 8

// An arm is one message (Arm in layout.h). Placed is its slot's address and its
// number in this launch.
struct alignas(16) Placed { u64 slot, number; };
SHARED Part placedParts[MOST_PARTS];
SHARED Placed placedArms[MOST_ARMS + ROW];
SHARED u64 placedChunks[MOST_ARMS + ROW];

DEVICE Call callOf(Placed arm) {
    Call c;
    c.slot = arm.slot;
    c.number = arm.number;
    c.ordered = c.system = false;
    return c;
}

template <class T> DEVICE void loadRecord(u64 at, T *record) {
#pragma unroll
    for (int k = 0; k < (int)sizeof(T) / 16; k++) load16(at + 16 * k, (u64 *)record + 2 * k);
}

DEVICE u32 least(u32 a, u32 b) { return a < b ? a : b; }

// exchangeAt is the address of the block's Exchange.
DEVICE u64 exchangeAt(const Launch &l) {
    const u32 unit = sizeof(Exchange);
    static_assert(sizeof(Part) == unit && sizeof(Arm) == unit, "records of an exchange");
    return l.blocks + unit * (1 + l.parts + l.arms) * blockIndex();
}

// place loads a block's records into shared memory and computes the slot and number
// of each message in this launch; false if the launch is given up. A launch has at
// most as many messages on a connection as there are slots. On one device the
// launch before has ended, so that all slots are free; another device may be behind.
DEVICE bool place(const Launch &l, Watch &w, Exchange &x) {
    u64 head = exchangeAt(l);
    bool lost = false;
    loadRecord(head, &x);
    for (u32 i = STAGES_FROM; i < l.parts || i < l.arms; i += STAGES_APART) {
        u32 part = least(i, l.parts - 1), arm = least(i, l.arms - 1); // the last one more than once
        Part p;
        Arm a;
        loadRecord(head + sizeof(Part) * (1 + part), &p);
        loadRecord(head + sizeof(Arm) * (1 + l.parts + arm), &a);
        placedParts[part] = p;
        u32 before = (u32)x.turn * a.each + a.before;
        Placed at;
        at.slot = a.slots + (before & (l.slots - 1)) * l.slotBytes;
        at.number = before + 1;
        placedArms[arm] = at;
        placedChunks[arm] = a.address;
        if (l.system && a.sends && before + 1 > l.slots) {
            u64 is;
            w.rank = x.rank;
            w.step = arm;
            lost |= !reaches(w, a.head, before + 1 - l.slots, &is, true, FOR_SLOT, 0, 0);
        }
    }
    return !barrierOr(lost);
}

// taken tells senders on other devices that this launch's messages have been read.
DEVICE void taken(const Launch &l, const Exchange &x) {
    for (u32 i = threadIndex(); i < l.arms; i += threadCount()) {
        Arm a;
        loadRecord(exchangeAt(l) + sizeof(Arm) * (1 + l.parts + i), &a);
        if (!a.sends && a.before + 1 == a.each) post(a.head, (x.turn + 1) * a.each, true);
    }
}

// Share is an exchange as one thread sees it.
template <class P, class E> struct Share {
    enum { words = P::words };
    u32 lane, line, at, reduction;
    i32 left; // bytes
    bool has;

    DEVICE_MEMBER Share(const Launch &l) {
        u32 bytes = l.chunkElements * (u32)sizeof(typename E::Stored), lines = (bytes + P::lineData - 1) / P::lineData;
        lane = threadIndex() % P::lanes;
        line = threadIndex() / P::lanes;
        has = line < lines;
        at = line * P::lineData + 8 * words * lane;
        left = (i32)(bytes - at);
        reduction = l.reduction;
    }

    // await waits for up to n messages from an arm on; false if the launch is given up.
    template <int n> DEVICE_MEMBER bool await(Watch &w, u32 first, u32 count, u64 (&data)[n][words]) const {
        Call in[n]; // beyond count, the last one again: no branches between the loads
        const Placed *row = placedArms + first;
#pragma unroll
        for (int k = 0; k < n; k++) in[k] = callOf(row[k]);
#pragma unroll
        for (int k = 1; k < n; k++)
            if ((u32)k >= count) in[k] = in[k - 1];
        if (P::lanes > 1) reconverge();
        for (u32 polls = 1;; polls++) {
            typename P::Looked looked[n] = {};
            if (P::lanes == 1 || has) {
#pragma unroll
                for (int k = 0; k < n; k++) P::look(in[k], line, lane, &looked[k]);
            }
            bool missing = false, lost = false;
#pragma unroll
            for (int k = 0; k < n; k++) missing |= !P::seen(in[k], lane, looked[k], data[k]);
            missing = missing && has;
            if (P::lanes == 1 && !missing) return true;
            if (missing && polls % POLLS_PER_LOOK == 0) {
#pragma unroll
                for (int k = 0; k < n; k++)
                    if (!P::seen(in[k], lane, looked[k], data[k])) w.step = first + least(k, count - 1);
                lost = overdue(w, FOR_MESSAGE, 0, 0);
            }
            if (missing) pause();
            if (P::lanes > 1) {
                missing = anyOfWarp(missing);
                lost = anyOfWarp(lost);
            }
            if (lost) return false;
            if (!missing) return true;
        }
    }

    // add reduces up to n values into one, which begins as the first of them where
    // begins is set. Sums are inlined, being the most frequent; other reductions
    // share a call.
    template <int n> DEVICE_MEMBER void add(u64 (&value)[words], const u64 (&row)[n][words], u32 count, bool begins) const {
        bool sums = reduction == SUM || reduction == AVG;
#pragma unroll
        for (int k = 0; k < n; k++) {
            if ((u32)k >= count) continue;
#pragma unroll
            for (int i = 0; i < words; i++) {
                if (k == 0 && begins)
                    value[i] = row[k][i];
                else
                    value[i] = sums ? combine<E, SUM>(value[i], row[k][i]) : combineAny<E>(value[i], row[k][i], reduction);
            }
        }
    }

    // send sends up to n messages: data of their own (m = n), or one value (m = 1).
    template <int n, int m> DEVICE_MEMBER void send(u32 first, u32 count, const u64 (&data)[m][words]) const {
        Call out[n];
        const Placed *row = placedArms + first;
#pragma unroll
        for (int k = 0; k < n; k++) out[k] = callOf(row[k]);
#pragma unroll
        for (int k = 0; k < n; k++) {
            if (P::lanes > 1) reconverge();
            if ((u32)k < count && has) P::send(out[k], line, lane, data[k % m]);
        }
    }

    // value computes a part's value, stores it and sends it; false if the launch is
    // given up.
    template <int n> DEVICE_MEMBER bool value(Watch &w, const Part &p) const {
        u64 value[1][words] = {};
        if (has && (p.does & READS)) P::load(p.src + at, lane, left, value[0]);
        bool adds = p.does & ADDS; // the chunk at dst, instead of messages
        u32 others = adds ? 1 : p.comes;
#pragma unroll 1
        for (u32 i = 0; i < others; i += n) {
            u64 data[n][words] = {};
            u32 count = least(others - i, n);
            if (adds) {
                if (has) P::load(p.dst + at, lane, left, data[0]);
            } else if (!await<n>(w, p.first + i, count, data)) {
                return false;
            }
            add(value[0], data, count, i == 0 && !(p.does & READS));
        }
        if (has && (p.does & WRITES)) P::store(p.dst + at, lane, left, value[0]);
#pragma unroll 1
        for (u32 i = 0; i < p.goes; i += n) send<n>(p.first + p.comes + i, least(p.goes - i, n), value);
        return true;
    }

    // apart sends or receives chunks, each in a message of its own; false if the launch
    // is given up. A single chunk that is sent is handled by value.
    template <int n> DEVICE_MEMBER bool apart(Watch &w, const Part &p) const {
#pragma unroll 1
        for (u32 i = 0; i < p.comes; i += n) {
            u64 data[n][words];
            u32 count = least(p.comes - i, n);
            if (!await<n>(w, p.first + i, count, data)) return false;
#pragma unroll
            for (int k = 0; k < n; k++)
                if ((u32)k < count && has) P::store(placedChunks[p.first + i + k] + at, lane, left, data[k]);
        }
        if (n == 1) return true;
#pragma unroll 1
        for (u32 i = 0; i < p.goes; i += n) {
            u64 data[n][words] = {}, from[n];
            u32 first = p.first + p.comes + i, count = least(p.goes - i, n);
            const u64 *row = placedChunks + first;
#pragma unroll
            for (int k = 0; k < n; k++) from[k] = row[k];
#pragma unroll
            for (int k = 1; k < n; k++)
                if ((u32)k >= count) from[k] = from[k - 1];
#pragma unroll
            for (int k = 0; k < n; k++)
                if (has) P::load(from[k] + at, lane, left, data[k]);
            send<n>(first, count, data);
        }
        return true;
    }

    // run executes a part; false if the launch is given up.
    DEVICE_MEMBER bool run(Watch &w, const Part &p) const {
        bool few = p.comes <= 1 && p.goes <= 1;
        if (p.does & APART) return few ? apart<1>(w, p) : apart<ROW>(w, p);
        return few ? value<1>(w, p) : value<ROW>(w, p);
    }
};

template <class P, class E> DEVICE void exchange(const Launch &l) {
    Exchange x;
    Watch w = watchOf(l, 0, 0);
    if (!place(l, w, x)) return;
    w.rank = x.rank;
    if (threadIndex() == 0) store<u64>(exchangeAt(l), x.turn + 1);
    Share<P, E> share(l);
    bool lost = false;
    if (P::lanes > 1 || share.has) {
#pragma unroll 1
        for (u32 i = 0; i < l.parts && !lost; i++) {
            Part p = placedParts[i];
            lost = !share.run(w, p);
        }
    }
    if (!l.system && l.reduction != AVG) return;
    if (barrierOr(lost)) return;
    if (l.system) taken(l, x);
    if (l.reduction == AVG) divide<E>(l.results + sizeof(Result) * x.results, x.resultCount, threadIndex(), threadCount());
}
