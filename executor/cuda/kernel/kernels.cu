// The kernels of one element type, which the build names: ELEMENT is a struct
// of elements.h.
#include "exchange.h"
#include "interpret.h"
#include "reference.h"

KERNEL void THREADS_AT_MOST(512) interpret_LL(Launch l) { interpret<LL, ELEMENT>(l); }
KERNEL void THREADS_AT_MOST(512) interpret_LL128(Launch l) { interpret<LL128, ELEMENT>(l); }
KERNEL void THREADS_AT_MOST(512) interpret_Simple(Launch l) { interpret<Simple, ELEMENT>(l); }
KERNEL void THREADS_AT_MOST(512) exchange_LL(Launch l) { exchange<LL, ELEMENT>(l); }
KERNEL void THREADS_AT_MOST(512) exchange_LL128(Launch l) { exchange<LL128, ELEMENT>(l); }

// fill writes a rank's input, spread writes one element everywhere, and reference
// spoils or checks a rank's output. empty measures what a launch costs, and hop how
// long a flag takes from one block to another, by which a program's time can be
// judged. hold keeps a device busy while the host queues what is to be timed.
KERNEL void THREADS_AT_MOST(512) fill(Fill f) { fillInput<ELEMENT>(f); }
KERNEL void THREADS_AT_MOST(512) spread(Spread s) { spreadElement<ELEMENT>(s); }
KERNEL void THREADS_AT_MOST(512) reference(Reference r) { compare<ELEMENT>(r); }
KERNEL void THREADS_AT_MOST(512) empty(Launch) {}
KERNEL void THREADS_AT_MOST(512) hold(Hold h) {
    for (u64 until = nanoseconds() + h.nanoseconds; nanoseconds() < until;) pause();
}
KERNEL void THREADS_AT_MOST(512) hop(Hop h) {
    if (threadIndex() != 0) return;
    u64 until = nanoseconds() + h.timeout;
    u64 mine = blockIndex() == 0 ? h.there : h.back, others = blockIndex() == 0 ? h.back : h.there;
    for (u32 round = 1; round <= h.rounds; round++) {
        u64 data;
        if (blockIndex() == 0) storeLine(mine, round, round);
        for (u32 polls = 1; !loadLine(others, &data, round); polls++) {
            pause();
            if (polls % POLLS_PER_LOOK == 0 && nanoseconds() > until) return;
        }
        if (blockIndex() != 0) storeLine(mine, data, round);
    }
}
