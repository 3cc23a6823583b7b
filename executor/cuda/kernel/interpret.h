// The interpreter (GC3 section 6.2): every block of the grid runs one
// threadblock of the program, tile by tile, step by step, call by call.
#pragma once

#include "move.h"
#include "reduce.h"
#include "small.h"

// Progress is a threadblock's position in its connections, in registers of every
// thread. A trial makes fewer than 2^32 calls.
struct Progress {
    u64 turn; // tiles, over all launches
    u32 sent, received;
    u32 credit; // calls known to be received by the other end
    u32 sendSlot, receiveSlot;
    u64 sendAt, receiveAt; // the slots' addresses
};

// nextSlot moves to the next slot of a connection, from the last to the first.
DEVICE void nextSlot(const Launch &l, const End &end, u32 *slot, u64 *at) {
    bool first = ++*slot == l.slots;
    if (first) *slot = 0;
    *at = first ? end.slots : *at + l.slotBytes;
}

// beginCall waits for a free slot to send into and, where messages are announced by
// a counter (Simple), for the message; false if the launch is given up.
template <class P> DEVICE bool beginCall(const Launch &l, const Block &b, Watch &w, Progress &p, u32 does) {
    bool lost = false;
    u64 is;
    // Where a barrier follows anyway, one thread polls the counter; elsewhere each
    // does, which costs little: it rarely has to wait.
    bool noCredit = (does & SENDS) && p.sent + 1 > p.credit + l.slots;
    if (noCredit && (!P::counted || threadIndex() == 0)) {
        lost = !reaches(w, b.send.head, p.sent + 1 - l.slots, &is, l.system, FOR_SLOT, b.sendTo, 0);
        p.credit = (u32)is;
    }
    if (P::counted && (does & CONNECTED)) {
        if ((does & RECEIVES) && threadIndex() == 0 && !lost)
            lost = !reaches(w, b.receive.tail, p.received + 1, &is, l.system, FOR_MESSAGE, b.receiveFrom, 0);
        lost = barrierOr(lost);
    }
    return !lost;
}

// endCall publishes the end of a call: first to the threadblocks that wait for its
// step, then to its peers.
template <class P> DEVICE void endCall(const Launch &l, const Block &b, Progress &p, const Step &step, bool flags, u64 turn) {
    u32 does = step.does;
    if (threadIndex() == 0) {
        if (flags || (P::counted && (does & CONNECTED))) publish(l.system);
        if (flags) post(b.semaphore, turn * b.programSteps + step.index + 1, false);
        if (P::counted && (does & SENDS)) post(b.send.tail, p.sent + 1, l.system);
        if (does & RECEIVES) post(b.receive.head, p.received + 1, l.system);
    }
    if (does & SENDS) {
        p.sent++;
        nextSlot(l, b.send, &p.sendSlot, &p.sendAt);
    }
    if (does & RECEIVES) {
        p.received++;
        nextSlot(l, b.receive, &p.receiveSlot, &p.receiveAt);
    }
}

// place sets the slots and numbers of a call's messages.
DEVICE void place(const Launch &l, const Progress &p, Call *in, Call *out) {
    out->slot = p.sendAt;
    out->number = p.sent + 1;
    in->slot = p.receiveAt;
    in->number = p.received + 1;
    in->ordered = out->ordered = l.ordered == FENCED;
    in->system = out->system = l.system != 0;
}

// awaitSteps waits for the steps that a step depends on; false if the launch is
// given up.
DEVICE bool awaitSteps(const Launch &l, Watch &w, const Step &step, u64 turn) {
    bool lost = false;
    for (u32 d = threadIndex(); d < step.dependencyCount; d += threadCount()) {
        u64 at = l.dependencies + sizeof(Dependency) * (step.dependencies + d);
        u64 semaphore = load<u64>(at), is;
        u32 steps = load<u32>(at + 8), other = load<u32>(at + 12), block = load<u32>(at + 16);
        lost |= !reaches(w, semaphore, turn * steps + other + 1, &is, false, FOR_STEP, (i32)block, other);
    }
    return !barrierOr(lost);
}

// runCalls runs the calls of a step that is not small; false if the launch is given
// up.
template <class P, class E> DEVICE bool runCalls(const Launch &l, const Block &b, Watch &w, Progress &p, const Step &step, u64 turn) {
    const int elementBytes = sizeof(typename E::Stored);
    u32 tile = (u32)(turn - p.turn);
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
    t.receives = step.does & RECEIVES;
    t.sends = step.does & SENDS;
    t.loads = step.does & LOADS;
    t.stores = step.does & STORES;
    t.sources = step.sources;
    t.sourceApart = step.sourceApart;
    t.from = b.receiveFrom;
    bool reduces = step.does & REDUCES;
    for (t.first = 0; t.first < step.count; t.first += l.perCall) {
        t.pieces = step.count - t.first < l.perCall ? step.count - t.first : l.perCall;
        bool lost = !beginCall<P>(l, b, w, p, step.does);
        place(l, p, &t.in, &t.out);
        if (!lost) {
            if (step.does & CONNECTED)
                lost = !moveCall<P, E>(w, t, reduces);
            else if (reduces)
                reduceCall<E>(t);
            else
                moveCall<Simple, E>(w, t, false);
        }
        if (barrierOr(lost)) return false;
        endCall<P>(l, b, p, step, t.first + l.perCall >= step.count && (step.does & FLAGS), turn);
    }
    return true;
}

// runSmall runs a small step; false if the launch is given up.
template <class P, class E> DEVICE bool runSmall(const Launch &l, const Block &b, Watch &w, Progress &p, const Step &step, u64 turn) {
    bool lost = false;
    if (step.does & CONNECTED) {
        Line<P, E> line(step);
        Call in, out;
        place(l, p, &in, &out);
        lost = !beginCall<P>(l, b, w, p, step.does) || !line.move(w, step, in, out, b.receiveFrom, l.reduction);
    } else if (step.does & REDUCES) {
        reduceSmall<E>(step.src.address, step.dst.address, step.bytes, step.sources, (u32)step.sourceApart, l.reduction);
    } else {
        copySmall(step);
    }
    if (barrierOr(lost)) return false;
    endCall<P>(l, b, p, step, step.does & FLAGS, turn);
    return true;
}

// runStep waits for the steps that a step depends on, runs its calls, and flags its
// end; false if the launch is given up.
template <class P, class E> DEVICE bool runStep(const Launch &l, const Block &b, Watch &w, Progress &p, const Step &step, u64 turn) {
    if (step.dependencyCount > 0 && !awaitSteps(l, w, step, turn)) return false;
    if (step.does & SMALL) return runSmall<P, E>(l, b, w, p, step, turn);
    if (step.does & ~FLAGS) return runCalls<P, E>(l, b, w, p, step, turn);
    if ((step.does & FLAGS) && threadIndex() == 0) {
        publish(false);
        post(b.semaphore, turn * b.programSteps + step.index + 1, false);
    }
    return true;
}

// headAt is the address of the block's Block, which its first steps follow.
DEVICE u64 headAt(const Launch &l) { return l.blocks + (sizeof(Block) + FIRST_STEPS * sizeof(Step)) * (u64)blockIndex(); }

// loadBlock loads a Block from byte `from` on. Fields that are used
// seldom are loaded again: they would take registers from data that is in flight.
template <int from> DEVICE void loadBlock(u64 head, Block &b) {
    u64 *words = (u64 *)&b;
#pragma unroll
    for (int k = from / 16; k < (int)sizeof(Block) / 16; k++) load16(head + 16 * k, words + 2 * k);
}

// finish turns the rank's sums into averages once all its threadblocks have reached
// the end of the launch; false if the launch is given up.
template <class E> DEVICE bool finish(const Launch &l, Watch &w, u64 turn) {
    Block b;
    loadBlock<sizeof(State)>(headAt(l), b); // the state is being written
    bool lost = false;
    if (threadIndex() == 0) {
        publish(false);
        addCount(b.finished, 1);
        u64 is;
        u64 launches = turn / l.tiles + 1;
        lost = !reaches(w, b.finished, launches * b.rankBlocks, &is, false, FOR_RANK, (i32)b.rank, 0);
    }
    if (barrierOr(lost)) return false;
    divide<E>(l.results + sizeof(Result) * b.results, b.resultCount, (u64)b.rankBlock * threadCount() + threadIndex(), (u64)b.rankBlocks * threadCount());
    return true;
}

#if STAGED_STEPS > 0
SHARED Step stagedSteps[STAGED_STEPS];
#endif

DEVICE Step stepAt(const Block &b, u32 i) {
#if STAGED_STEPS > 0
    if (i < STAGED_STEPS) return stagedSteps[i];
#endif
    Step s;
    u64 *words = (u64 *)&s;
#pragma unroll
    for (int k = 0; k < (int)sizeof(Step) / 16; k++) load16(b.steps + sizeof(Step) * (u64)i + 16 * k, words + 2 * k);
    return s;
}

// prepare loads a block's Block, its State and its steps: the first steps with the
// Block, the others and the receiver's counter with a second load.
template <class P> DEVICE void prepare(const Launch &l, Block &b, Progress &p) {
    loadBlock<0>(headAt(l), b);
#if STAGED_STEPS > 0
    const u32 each = sizeof(Step) / 16, first = FIRST_STEPS * each;
    u64 part[2];
    if (threadIndex() < first) {
        load16(headAt(l) + sizeof(Block) + 16 * threadIndex(), part);
        stage16(stagedSteps, threadIndex(), part);
    }
    u32 staged = b.stepCount < STAGED_STEPS ? b.stepCount : STAGED_STEPS;
    for (u32 i = first + threadIndex(); i < staged * each; i += threadCount()) {
        load16(b.steps + 16ull * i, part);
        stage16(stagedSteps, i, part);
    }
#endif
    // Calls that the receiver took in earlier launches need not be polled for again.
    // A thread overwrites lines of LL and LL128 only after it has seen that they were
    // taken, so that the load needs no order.
    p.credit = 0;
    if (b.sendTo >= 0) p.credit = (u32)(P::counted ? loadAcquire(b.send.head, l.system) : loadRelaxed(b.send.head, l.system));
    p.turn = b.state.turn;
    p.sent = (u32)b.state.sent;
    p.received = (u32)b.state.received;
    p.sendSlot = b.state.sendSlot;
    p.receiveSlot = b.state.receiveSlot;
    p.sendAt = b.send.slots + p.sendSlot * l.slotBytes;
    p.receiveAt = b.receive.slots + p.receiveSlot * l.slotBytes;
    barrier();
}

// leave stores the State at the end of the launch, which is known at its beginning:
// a launch that ends elsewhere was given up, and none follows it. It is called after
// the first step, where it delays nobody: before that step peers would wait for it,
// and after the last step the end of the launch would.
DEVICE_CALL void leave(u64 head, u32 tiles, u32 slots) {
    if (threadIndex() != 0) return;
    Block b;
    loadBlock<0>(head, b);
    u32 sendSlot = b.state.sendSlot + b.sendSlots, receiveSlot = b.state.receiveSlot + b.receiveSlots;
    if (sendSlot >= slots) sendSlot -= slots;
    if (receiveSlot >= slots) receiveSlot -= slots;
    u64 state[4] = {b.state.turn + tiles, b.state.sent + b.sends, b.state.received + b.receives, (u64)receiveSlot << 32 | sendSlot};
    store16(head, state);
    store16(head + 16, state + 2);
}

template <class P, class E> DEVICE void interpret(const Launch &l) {
    Block b;
    Progress p;
    prepare<P>(l, b, p);
    Watch w = watchOf(l, b.rank, b.threadblock);
    beginLines(l.ordered);
    bool left = false;
    for (u32 tile = 0; tile < l.tiles; tile++) {
        w.tile = tile;
        for (u32 i = 0; i < b.stepCount; i++) {
            Step step = stepAt(b, i);
            w.step = step.index;
            if (!runStep<P, E>(l, b, w, p, step, p.turn + tile)) return;
            if (!left) leave(headAt(l), l.tiles, l.slots);
            left = true;
        }
    }
    if (!left) leave(headAt(l), l.tiles, l.slots);
    if (l.reduction == AVG) finish<E>(l, w, p.turn);
}
