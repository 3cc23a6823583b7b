// Waiting, and the watchdog that ends it. A thread gives a launch up when timeout
// nanoseconds have passed since its first long wait: the clock is slow to read, and
// is not read before. The first thread to do so writes what it waits for into the
// status; all others see that and leave.
#pragma once

#include "platform.h"

// Watch is one thread's view of the launch's time.
struct Watch {
    u64 timeout;
    u64 deadline; // 0: no long wait yet
    u64 claim, status;
    u32 rank, threadblock, step, tile;
    u32 looks;
};

DEVICE Watch watchOf(const Launch &l, u32 rank, u32 threadblock) {
    Watch w;
    w.timeout = l.timeout;
    w.deadline = 0;
    w.claim = l.claim;
    w.status = l.status;
    w.rank = rank;
    w.threadblock = threadblock;
    w.step = w.tile = w.looks = 0;
    return w;
}

// overdue reports whether the launch is given up, and writes the status if this
// thread is the first to find that it is.
DEVICE_CALL bool overdue(Watch &w, u32 waiting, i32 peer, u32 peerStep) {
    if (loadVolatile(w.claim) != 0) return true;
    bool cancelled = ++w.looks % LOOKS_PER_CANCEL == 0 && loadVolatile(w.status) != 0;
    u64 now = nanoseconds();
    if (w.deadline == 0) w.deadline = now + w.timeout;
    if (!cancelled && now < w.deadline) return false;
    if (claim(w.claim)) {
        storeVolatile(w.status + 8, w.rank);
        storeVolatile(w.status + 12, w.threadblock);
        storeVolatile(w.status + 16, w.step);
        storeVolatile(w.status + 20, w.tile);
        storeVolatile(w.status + 24, (u32)peer);
        storeVolatile(w.status + 28, peerStep);
        storeVolatile(w.status + 4, waiting);
    }
    return true;
}

// reaches waits until a counter is at least `least`, and stores it in is; false if the
// launch is given up.
DEVICE bool reaches(Watch &w, u64 counter, u64 least, u64 *is, bool system, u32 waiting, i32 peer, u32 peerStep) {
    for (u32 polls = 1; (*is = loadAcquire(counter, system)) < least; polls++) {
        pause();
        if (polls % POLLS_PER_LOOK == 0 && overdue(w, waiting, peer, peerStep)) return false;
    }
    return true;
}
