// A grid of threads of the system, for one launch: all at once, as a
// cooperative launch promises. Threads that are done wait for the next launch.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "../kernels.cu"

thread_local HostThread hostThread;
thread_local bool hostOrdered;

// The kernels, by the number that a launch is asked for under.
enum Kernel { KERNEL_LL, KERNEL_LL128, KERNEL_SIMPLE, KERNEL_EXCHANGE_LL, KERNEL_EXCHANGE_LL128, KERNEL_FILL, KERNEL_SPREAD, KERNEL_REFERENCE, KERNEL_EMPTY, KERNEL_HOLD, KERNEL_HOP };

static inline void runKernel(int kernel, const void *parameters) {
    switch (kernel) {
    case KERNEL_LL: return interpret_LL(*(const Launch *)parameters);
    case KERNEL_LL128: return interpret_LL128(*(const Launch *)parameters);
    case KERNEL_SIMPLE: return interpret_Simple(*(const Launch *)parameters);
    case KERNEL_EXCHANGE_LL: return exchange_LL(*(const Launch *)parameters);
    case KERNEL_EXCHANGE_LL128: return exchange_LL128(*(const Launch *)parameters);
    case KERNEL_FILL: return fill(*(const Fill *)parameters);
    case KERNEL_SPREAD: return spread(*(const Spread *)parameters);
    case KERNEL_REFERENCE: return reference(*(const Reference *)parameters);
    case KERNEL_HOLD: return hold(*(const Hold *)parameters);
    case KERNEL_HOP: return hop(*(const Hop *)parameters);
    default: return empty(*(const Launch *)parameters);
    }
}

// Worker is a thread that runs one task after another. It waits on a lock of its
// own, so that it orders nothing between the threads of a launch.
class Worker {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> task; // empty: the thread waits for one

    void work() {
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            changed.wait(lock, [this] { return bool(task); });
            lock.unlock();
            task();
            lock.lock();
            task = nullptr;
            changed.notify_one();
        }
    }

public:
    Worker() { std::thread([this] { work(); }).detach(); }
    void begin(std::function<void()> t) {
        std::lock_guard<std::mutex> lock(mutex);
        task = std::move(t);
        changed.notify_one();
    }
    void wait() {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [this] { return !task; });
    }
};

// idle are the workers that no launch has. They end with the process.
static std::vector<Worker *> idle;

static Worker *worker() {
    if (idle.empty()) return new Worker;
    Worker *w = idle.back();
    idle.pop_back();
    return w;
}

// Grid is a launch under way.
class Grid {
    struct Block : HostBlock {
        pthread_barrier_t together;
    };
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<Worker *> threads;
    std::vector<unsigned char> parameters;
    std::atomic<u32> running;

    static void meet(HostBlock *b) { pthread_barrier_wait(&static_cast<Block *>(b)->together); }

public:
    Grid(int kernel, u32 blockCount, u32 threadCount, const void *bytes, size_t n) : parameters((const unsigned char *)bytes, (const unsigned char *)bytes + n), running(blockCount * threadCount) {
        for (u32 i = 0; i < blockCount; i++) {
            auto b = std::make_unique<Block>();
            b->index = i;
            b->blocks = blockCount;
            b->threads = threadCount;
            b->meet = meet;
            b->votes[0] = b->votes[1] = b->votes[2] = 0;
            pthread_barrier_init(&b->together, nullptr, threadCount);
            blocks.push_back(std::move(b));
        }
        for (auto &b : blocks)
            for (u32 t = 0; t < threadCount; t++) {
                threads.push_back(worker());
                threads.back()->begin([this, kernel, block = b.get(), t] {
                    hostThread = HostThread{block, t, 0};
                    hostOrdered = false;
                    runKernel(kernel, parameters.data());
                    running--;
                });
            }
    }
    bool done() const { return running == 0; }
    ~Grid() {
        for (auto *w : threads) {
            w->wait();
            idle.push_back(w);
        }
        for (auto &b : blocks) pthread_barrier_destroy(&b->together);
    }
};
