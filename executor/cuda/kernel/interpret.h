// The interpreter (GC3 section 6.2): every block of the grid runs one
// threadblock of the program, tile by tile, step by step, call by call.
#pragma once

#include "move.h"
#include "reduce.h"

// Of an instruction: what it reads, writes and occupies.
struct Shape {
    bool receives, sends, loads, stores, reduces;
};
DEVICE Shape shapeOf(u32 op) {
    Shape s;
    s.receives = op == RECV || op >= RECV_REDUCE_COPY;
    s.sends = op == SEND || op == RECV_COPY_SEND || op == RECV_REDUCE_SEND || op == RECV_REDUCE_COPY_SEND;
    s.reduces = op == REDUCE || op == RECV_REDUCE_COPY || op == RECV_REDUCE_SEND || op == RECV_REDUCE_COPY_SEND;
    s.loads = op == SEND || op == COPY || s.reduces;
    s.stores = op != NOP && op != SEND && op != RECV_REDUCE_SEND;
    return s;
}

// Progress is a threadblock's place in its connections, in registers of every
// thread.
struct Progress {
    u64 turn; // tiles, over all launches
    u64 sent, received;
    u64 credit; // calls known to be received by the other end
    u32 sendSlot, receiveSlot;
};

DEVICE u32 nextSlot(u32 slot, u32 slots) { return slot + 1 == slots ? 0 : slot + 1; }

// runCall runs one call of a step.
template <class P, class E> DEVICE bool runCall(const Launch &l, const Block &b, Watch &w, Progress &p, const Step &step, const Shape &shape, Transfer &t, bool last) {
    bool connected = shape.sends || shape.receives;
    bool lost = false;
    // A counter is polled by one thread where a barrier comes anyway, by each
    // where none does: it is rarely behind.
    bool noCredit = shape.sends && p.sent + 1 > p.credit + l.slots;
    if (noCredit && (!P::counted || threadIndex() == 0))
        lost = !reaches(w, b.send.head, p.sent + 1 - l.slots, &p.credit, l.system, FOR_SLOT, b.sendTo, 0);
    if (P::counted && connected) {
        u64 tail;
        if (shape.receives && threadIndex() == 0 && !lost)
            lost = !reaches(w, b.receive.tail, p.received + 1, &tail, l.system, FOR_MESSAGE, b.receiveFrom, 0);
        if (barrierOr(lost)) return false;
    }
    if (shape.sends) {
        t.out.slot = b.send.slots + p.sendSlot * l.slotBytes;
        t.out.number = p.sent + 1;
    }
    if (shape.receives) {
        t.in.slot = b.receive.slots + p.receiveSlot * l.slotBytes;
        t.in.number = p.received + 1;
    }
    if (!lost) {
        if (connected)
            lost = !moveCall<P, E>(w, t, shape.reduces);
        else if (shape.reduces)
            reduceCall<E>(t);
        else
            moveCall<Simple, E>(w, t, false);
    }
    if (barrierOr(lost)) return false;

    bool flags = last && step.flagged;
    if (threadIndex() == 0) {
        if (flags || (P::counted && connected)) publish(l.system);
        if (P::counted && shape.sends) post(b.send.tail, p.sent + 1, l.system);
        if (shape.receives) post(b.receive.head, p.received + 1, l.system);
    }
    if (shape.sends) {
        p.sent++;
        p.sendSlot = nextSlot(p.sendSlot, l.slots);
    }
    if (shape.receives) {
        p.received++;
        p.receiveSlot = nextSlot(p.receiveSlot, l.slots);
    }
    return true;
}

// runStep waits for what a step depends on, runs its calls, and flags its end.
template <class P, class E> DEVICE bool runStep(const Launch &l, const Block &b, Watch &w, Progress &p, const Step &step, u64 turn) {
    bool lost = false;
    for (u32 d = threadIndex(); d < step.dependencyCount; d += threadCount()) {
        u64 at = l.dependencies + sizeof(Dependency) * (step.dependencies + d);
        u64 semaphore = load<u64>(at), is;
        u32 steps = load<u32>(at + 8), other = load<u32>(at + 12), block = load<u32>(at + 16);
        lost |= !reaches(w, semaphore, turn * steps + other + 1, &is, false, FOR_STEP, (i32)block, other);
    }
    if (step.dependencyCount > 0 && barrierOr(lost)) return false;

    Shape shape = shapeOf(step.op);
    if (step.op != NOP) {
        u32 tile = (u32)(turn - p.turn);
        const int elementBytes = sizeof(typename E::Stored);
        Transfer t;
        t.chunks = l.chunks;
        t.src = step.src;
        t.dst = step.dst;
        t.srcChunk = step.srcChunk;
        t.dstChunk = step.dstChunk;
        t.srcStride = step.srcStride;
        t.dstStride = step.dstStride;
        t.reduction = l.reduction;
        t.offset = (i64)tile * l.tileElements * elementBytes;
        t.chunkBytes = (i64)l.chunkElements * elementBytes;
        t.bytes = t.chunkBytes - t.offset < (i64)l.tileElements * elementBytes ? t.chunkBytes - t.offset : (i64)l.tileElements * elementBytes;
        t.receives = shape.receives;
        t.sends = shape.sends;
        t.loads = shape.loads;
        t.sources = step.sources;
        t.sourceApart = step.sourceApart;
        t.stores = shape.stores;
        t.in.ordered = t.out.ordered = l.ordered == FENCED;
        t.in.system = t.out.system = l.system != 0;
        t.from = b.receiveFrom;
        for (t.first = 0; t.first < step.count; t.first += l.perCall) {
            t.pieces = step.count - t.first < l.perCall ? step.count - t.first : l.perCall;
            if (!runCall<P, E>(l, b, w, p, step, shape, t, t.first + l.perCall >= step.count)) return false;
        }
    } else if (step.flagged && threadIndex() == 0) {
        publish(false);
    }
    if (step.flagged && threadIndex() == 0) post(b.semaphore, turn * b.programSteps + step.index + 1, false);
    return true;
}

// finish divides the rank's sums, once all its threadblocks have come to the
// end of the launch: an average is a sum until then.
template <class E> DEVICE bool finish(const Launch &l, const Block &b, Watch &w, u64 launches) {
    bool lost = false;
    if (threadIndex() == 0) {
        publish(false);
        addCount(b.finished, 1);
        u64 is;
        lost = !reaches(w, b.finished, launches * b.rankBlocks, &is, false, FOR_RANK, (i32)b.rank, 0);
    }
    if (barrierOr(lost)) return false;
    for (u32 i = 0; i < b.resultCount; i++) {
        u64 at = l.results + sizeof(Result) * (b.results + i);
        u64 address = load<u64>(at), elements = load<u64>(at + 8), terms = load<u64>(at + 16);
        for (u64 e = (u64)b.rankBlock * threadCount() + threadIndex(); e < elements; e += (u64)b.rankBlocks * threadCount()) {
            typedef typename E::Stored Stored;
            u64 where = address + e * sizeof(Stored);
            store<Stored>(where, E::narrow(divided(E::widen(load<Stored>(where)), terms)));
        }
    }
    return true;
}

#if STAGED_STEPS > 0
SHARED Step stagedSteps[STAGED_STEPS];
#endif

DEVICE Step stepAt(const Block &b, u32 i) {
#if STAGED_STEPS > 0
    if (b.stepCount <= STAGED_STEPS) return stagedSteps[i];
#endif
    Step s;
    u64 *words = (u64 *)&s;
#pragma unroll
    for (int k = 0; k < (int)sizeof(Step) / 16; k++) load16(b.steps + sizeof(Step) * (u64)i + 16 * k, words + 2 * k);
    return s;
}

template <class P, class E> DEVICE void interpret(const Launch &l) {
    u64 here = l.blocks + sizeof(Block) * (u64)blockIndex();
    Block b;
    {
        u64 *words = (u64 *)&b;
#pragma unroll
        for (int k = 0; k < (int)sizeof(Block) / 16; k++) load16(here + 16 * k, words + 2 * k);
    }
    Progress p;
    p.turn = b.state.turn;
    p.sent = b.state.sent;
    p.received = b.state.received;
    p.credit = 0;
    p.sendSlot = b.state.sendSlot;
    p.receiveSlot = b.state.receiveSlot;
    Watch w = watchOf(l, b);
    beginLines(l.ordered);
#if STAGED_STEPS > 0
    if (b.stepCount <= STAGED_STEPS) {
        for (u32 i = threadIndex(); i < b.stepCount * (sizeof(Step) / 8); i += threadCount())
            sharedWords(stagedSteps)[i] = load<u64>(b.steps + 8ull * i);
    }
#endif
    barrier();
    for (u32 tile = 0; tile < l.tiles; tile++) {
        w.tile = tile;
        for (u32 i = 0; i < b.stepCount; i++) {
            Step step = stepAt(b, i);
            w.step = step.index;
            if (!runStep<P, E>(l, b, w, p, step, p.turn + tile)) return;
        }
    }
    if (l.reduction == AVG && !finish<E>(l, b, w, (p.turn + l.tiles) / l.tiles)) return;
    barrier();
    if (threadIndex() == 0) {
        store<u64>(here, p.turn + l.tiles);
        store<u64>(here + 8, p.sent);
        store<u64>(here + 16, p.received);
        store<u32>(here + 24, p.sendSlot);
        store<u32>(here + 28, p.receiveSlot);
    }
}
