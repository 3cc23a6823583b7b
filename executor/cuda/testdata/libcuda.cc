// A libcuda for tests: GPUs of the host's threads. Kernels are the host build of
// one element type, whatever PTX is loaded. It notes calls and what is not given
// back, and fails where it is told to.
//
//	environment        COLLTUNE_EXECUTOR_FAKE_CUDA: name=value, by commas: devices, major, cooperative,
//	                   peers, atomics, sms, memory (MiB), cache (KiB), version, load (0: PTX is refused),
//	                   image (0: what is not PTX is refused), graphs (0: nothing can be captured);
//	                   left (MiB that others have left of the memory);
//	                   hang=CALL:N: the N-th call of a function does not come back;
//	                   fail=CALL:N:CODE fails the N-th call of a function, and all after it
//	                   where no context survives such a code;
//	                   slow=N: the first N questions find an event passed already, as where the host
//	                   is slow to queue what follows it;
//	                   absent=N, wrong=N: the N-th launch of a program lacks its last block,
//	                   and ends after patience (300 ms) at most; has a sum that is a maximum;
//	                   upset=CODE fails a query while the one that lacks a block runs
//	fakeReset(text)    the same from a test's own process, and all calls forgotten
//	fakeCalls(name)    how often a function was called
//	fakeForget()       as if the process had ended
//	fakeHeld()         allocations, contexts, modules, streams and events not given back
//	fakeRunning()      grids that have not come to their end
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "../kernel/host/grid.h"

typedef int CUresult;
enum {
    OK = 0,
    INVALID = 1,
    NO_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500,
    NOT_READY = 600,
    LAUNCH_FAILED = 719,
    TOO_LARGE = 720,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_WRONG_THREAD = 908
};

namespace {

// Node is a launch that a graph has recorded.
struct Node {
    long function;
    unsigned blocks, threads;
    std::vector<unsigned char> parameter;
};
struct Graph {
    std::vector<Node> nodes;
};
struct Queue {
    std::unique_ptr<Grid> running;
    std::unique_ptr<Graph> capturing;
    bool lacking = false; // a block of the program that runs
    unsigned mode = 0;
    std::thread::id by;
};
struct Mark {
    std::chrono::steady_clock::time_point at;
};
long slow; // event queries that find the host behind

std::mutex guard;
std::map<std::string, long> settings;
std::map<std::string, long> calls;
std::string failing, hanging;
long failAt, failCode, hangAt;
std::map<void *, size_t> memory;
std::map<int, int> contexts;
long held[5]; // modules, streams, events, host memory, graphs
CUresult lost = OK; // what every call gives, since one was lost for good
long programs = 0;  // launches of the interpreter
thread_local long current = -1;

void configure(const char *text) {
    settings = {{"devices", 1}, {"major", 9}, {"cooperative", 1}, {"peers", 1}, {"atomics", 1}, {"sms", 40}, {"memory", 1024}, {"left", 1 << 20}, {"cache", 51200}, {"load", 1}, {"image", 1}, {"graphs", 1}, {"version", 12040}, {"slow", 0}, {"absent", 0}, {"patience", 300}, {"upset", 0}, {"wrong", 0}};
    failing.clear();
    hanging.clear();
    lost = OK;
    programs = slow = 0;
    std::string all = text ? text : "";
    for (size_t at = 0; at < all.size();) {
        size_t end = all.find(',', at);
        if (end == std::string::npos) end = all.size();
        std::string one = all.substr(at, end - at);
        size_t eq = one.find('=');
        std::string name = one.substr(0, eq), value = eq == std::string::npos ? "" : one.substr(eq + 1);
        if (name == "fail") {
            size_t a = value.find(':'), b = value.find(':', a + 1);
            failing = value.substr(0, a);
            failAt = atol(value.c_str() + a + 1);
            failCode = atol(value.c_str() + b + 1);
        } else if (name == "hang") {
            size_t a = value.find(':');
            hanging = value.substr(0, a);
            hangAt = atol(value.c_str() + a + 1);
        } else {
            settings[name] = atol(value.c_str());
        }
        at = end + 1;
    }
}

// failed is what a call gives that fails so; no context survives some failures.
CUresult failed(long code) {
    if (code == 214 || code == 999 || (code >= 700 && code <= LAUNCH_FAILED && code != 704 && code != 711)) lost = (CUresult)code;
    return (CUresult)code;
}

// called notes a call; not OK where it is to fail.
CUresult called(const char *name) {
    std::unique_lock<std::mutex> lock(guard);
    if (settings.empty()) configure(getenv("COLLTUNE_EXECUTOR_FAKE_CUDA"));
    long n = ++calls[name];
    if (lost != OK) return lost;
    if (hanging == name && n == hangAt) {
        lock.unlock();
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
    return failing == name && n == failAt ? failed(failCode) : OK;
}

// here is called with a context current.
CUresult here(const char *name) {
    CUresult r = called(name);
    return r == OK && current < 0 ? INVALID_CONTEXT : r;
}

} // namespace

#define API extern "C" __attribute__((visibility("default")))
#define CALLED                                 \
    if (CUresult r = called(__func__)) return r;
#define HERE                                   \
    if (CUresult r = here(__func__)) return r;

API void fakeReset(const char *text) {
    std::lock_guard<std::mutex> lock(guard);
    calls.clear();
    configure(text);
}
API long fakeCalls(const char *name) {
    std::lock_guard<std::mutex> lock(guard);
    return calls[name];
}
API long fakeHeld() {
    std::lock_guard<std::mutex> lock(guard);
    long n = (long)memory.size() + held[0] + held[1] + held[2] + held[3] + held[4];
    for (auto &c : contexts) n += c.second;
    return n;
}

// Copies, memsets and the freeing of memory wait for everything that runs: as a
// stream of the default kind does, and the driver before it takes memory back.
static std::map<Queue *, int> queues;
static void drain() {
    for (auto &q : queues) q.first->running.reset();
}

API long fakeRunning() {
    return std::count_if(queues.begin(), queues.end(), [](auto &q) { return q.first->running && !q.first->running->done(); });
}

// fakeForget is the end of a process: nothing is held any more, and nothing runs.
API void fakeForget() {
    drain();
    std::lock_guard<std::mutex> lock(guard);
    for (auto &m : memory) free(m.first);
    memory.clear();
    contexts.clear();
    held[0] = held[1] = held[2] = held[3] = held[4] = 0;
}

API CUresult cuInit(unsigned) { CALLED return settings["devices"] == 0 ? NO_DEVICE : OK; }
API CUresult cuDriverGetVersion(int *v) { CALLED *v = (int)settings["version"]; return OK; }
API CUresult cuGetErrorName(CUresult r, const char **p) {
    *p = r == NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : r == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : r == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_OF_THE_TEST";
    return OK;
}
API CUresult cuGetErrorString(CUresult r, const char **p) {
    *p = r == NO_MEMORY ? "out of memory" : r == NO_DEVICE ? "no CUDA-capable device is detected" : r == LAUNCH_FAILED ? "unspecified launch failure" : "an error of the test";
    return OK;
}
API CUresult cuDeviceGetCount(int *n) { CALLED *n = (int)settings["devices"]; return OK; }
API CUresult cuDeviceGet(int *d, int i) { CALLED *d = i; return OK; }
API CUresult cuDeviceGetName(char *name, int n, int d) { CALLED snprintf(name, n, "Fake %d", d); return OK; }
API CUresult cuDeviceTotalMem_v2(size_t *n, int) { CALLED *n = settings["memory"] << 20; return OK; }
API CUresult cuDeviceGetAttribute(int *v, int attribute, int) {
    CALLED
    switch (attribute) {
    case 16: *v = (int)settings["sms"]; break;
    case 19: *v = 1; break;
    case 38: *v = (int)settings["cache"] << 10; break;
    case 75: *v = (int)settings["major"]; break;
    case 76: *v = 0; break;
    case 95: *v = (int)settings["cooperative"]; break;
    default: return INVALID;
    }
    return OK;
}
API CUresult cuDeviceCanAccessPeer(int *can, int, int) { CALLED *can = (int)settings["peers"]; return OK; }
API CUresult cuDeviceGetP2PAttribute(int *v, int, int, int) { CALLED *v = (int)settings["atomics"]; return OK; }
API CUresult cuDevicePrimaryCtxRetain(long *c, int d) {
    CALLED
    std::lock_guard<std::mutex> lock(guard);
    contexts[d]++;
    *c = d + 1;
    return OK;
}
API CUresult cuDevicePrimaryCtxRelease(int d) {
    CALLED
    std::lock_guard<std::mutex> lock(guard);
    return contexts[d]-- > 0 ? OK : INVALID_CONTEXT;
}
API CUresult cuCtxSetCurrent(long c) { CALLED current = c - 1; return OK; }
API CUresult cuCtxEnablePeerAccess(long, unsigned) { HERE return OK; }
API CUresult cuMemGetInfo_v2(size_t *left, size_t *total) { HERE *total = settings["memory"] << 20; *left = std::min(settings["memory"], settings["left"]) << 20; return OK; }
API CUresult cuMemAlloc_v2(u64 *at, size_t n) {
    HERE
    void *p = aligned_alloc(256, (n + 255) / 256 * 256);
    memset(p, 0xee, n);
    std::lock_guard<std::mutex> lock(guard);
    memory[p] = n;
    *at = (u64)p;
    return OK;
}
API CUresult cuMemFree_v2(u64 at) {
    HERE
    drain();
    std::lock_guard<std::mutex> lock(guard);
    if (memory.erase((void *)at) == 0) return INVALID;
    free((void *)at);
    return OK;
}

// A copy to the device returns while the last of it is staged: it arrives with the
// next copy, or when somebody waits.
static void *stagedFor;
static std::string staged;
static void arrive() {
    memcpy(stagedFor, staged.data(), staged.size());
    staged.clear();
}
API CUresult cuCtxSynchronize() { HERE drain(); arrive(); return OK; }
API CUresult cuMemcpyHtoD_v2(u64 to, const void *from, size_t n) {
    HERE
    drain();
    arrive();
    size_t last = std::min<size_t>(n, 65536);
    stagedFor = (char *)to + n - last;
    staged.assign((const char *)from + n - last, last);
    memcpy((void *)to, from, n - last);
    return OK;
}
API CUresult cuMemcpyDtoH_v2(void *to, u64 from, size_t n) { HERE drain(); arrive(); memcpy(to, (void *)from, n); return OK; }
API CUresult cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t n, Queue *q) { HERE q->running.reset(); memcpy((void *)to, (void *)from, n); return OK; }
API CUresult cuMemsetD8Async(u64 at, unsigned char v, size_t n, Queue *q) { HERE q->running.reset(); memset((void *)at, v, n); return OK; }
API CUresult cuMemHostAlloc(void **p, size_t n, unsigned) {
    HERE
    *p = aligned_alloc(256, (n + 255) / 256 * 256);
    held[3]++;
    return OK;
}
API CUresult cuMemHostGetDevicePointer_v2(u64 *at, void *p, unsigned) { HERE *at = (u64)p; return OK; }
API CUresult cuMemFreeHost(void *p) { HERE drain(); free(p); held[3]--; return OK; }
API CUresult cuModuleLoadDataEx(long *m, const char *ptx, unsigned n, const int *options, void **values) {
    HERE
    if (!strncmp(ptx, "\177ELF", 4)) { // machine code, of the fake libnvrtc
        if (!settings["image"]) return INVALID_IMAGE;
        held[0]++;
        *m = 78;
        return OK;
    }
    if (!settings["load"] || !strstr(ptx, ".target sm_70") || !strstr(ptx, "PlainIfE")) { // kernels of f32 are all there are
        for (unsigned i = 0; i < n; i++)
            if (options[i] == 5) strcpy((char *)values[i], "ptxas: line 1: what is this?");
        return 218;
    }
    held[0]++;
    *m = 77;
    return OK;
}
API CUresult cuModuleUnload(long) { HERE held[0]--; return OK; }
API CUresult cuModuleGetFunction(long *f, long, const char *name) {
    HERE
    const char *names[] = {"interpret_LL", "interpret_LL128", "interpret_Simple", "exchange_LL", "exchange_LL128", "fill", "spread", "reference", "empty", "hold", "hop"};
    for (int i = 0; i < 11; i++)
        if (!strcmp(name, names[i])) {
            *f = i + 1;
            return OK;
        }
    return NOT_FOUND;
}
API CUresult cuFuncGetAttribute(int *v, int attribute, long f) { HERE *v = attribute == 0 ? 2 : 40; return f ? OK : INVALID; }
API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *v, long f, int, size_t) {
    HERE
    *v = 1;
    return f ? OK : INVALID;
}
static void run(Queue *q, const Node &node) {
    Node n = node;
    bool lacking = false;
    if (n.function <= 5) {
        long now = ++programs;
        Launch *l = (Launch *)n.parameter.data();
        if (now == settings["absent"]) {
            lacking = true;
            n.blocks--;
            l->timeout = std::min(l->timeout, settings["patience"] * 1000000ull);
        }
        if (now == settings["wrong"] && l->reduction == SUM) l->reduction = MAX;
    }
    q->running.reset();
    q->lacking = lacking;
    // The kernels of the data are for any grid: a small one will do.
    q->running.reset(new Grid((int)n.function - 1, n.function > 5 && n.function < 9 ? 2 : n.blocks, n.threads, n.parameter.data(), n.parameter.size()));
}
static CUresult start(long f, unsigned blocks, unsigned threads, Queue *q, void **parameters) {
    static const size_t sizes[] = {sizeof(Launch), sizeof(Launch), sizeof(Launch), sizeof(Launch), sizeof(Launch), sizeof(Fill), sizeof(Spread), sizeof(Reference), sizeof(Launch), sizeof(Hold), sizeof(Hop)};
    const unsigned char *p = (const unsigned char *)parameters[0];
    Node n{f, blocks, threads, {p, p + sizes[f - 1]}};
    if (q->capturing)
        q->capturing->nodes.push_back(n);
    else
        run(q, n);
    return OK;
}
API CUresult cuLaunchKernel(long f, unsigned x, unsigned, unsigned, unsigned t, unsigned, unsigned, unsigned, Queue *q, void **p, void **) {
    HERE
    return start(f, x, t, q, p);
}
API CUresult cuLaunchCooperativeKernel(long f, unsigned x, unsigned, unsigned, unsigned t, unsigned, unsigned, unsigned, Queue *q, void **p) {
    HERE
    if (x > settings["sms"]) return TOO_LARGE;
    return start(f, x, t, q, p);
}
API CUresult cuStreamCreate(Queue **q, unsigned) { HERE *q = new Queue; queues[*q]; held[1]++; return OK; }
// Graphs: a stream that captures takes launches and nothing else.
API CUresult cuStreamBeginCapture_v2(Queue *q, unsigned mode) {
    HERE
    if (!settings["graphs"]) return NOT_SUPPORTED;
    if (q->capturing) return INVALID;
    q->capturing.reset(new Graph);
    q->mode = mode;
    q->by = std::this_thread::get_id();
    return OK;
}
API CUresult cuStreamEndCapture(Queue *q, Graph **g) {
    CUresult r = here(__func__);
    *g = nullptr;
    if (!q->capturing) return INVALID;
    std::unique_ptr<Graph> made = std::move(q->capturing);
    if (r != OK) return r;
    const unsigned relaxed = 2;
    if (q->mode != relaxed && q->by != std::this_thread::get_id()) return CAPTURE_WRONG_THREAD;
    *g = made.release();
    held[4]++;
    return OK;
}
API CUresult cuGraphInstantiateWithFlags(Graph **made, Graph *g, unsigned long long flags) {
    HERE
    if (flags != 0) return INVALID;
    for (auto &n : g->nodes)
        if (n.function <= 3 && n.blocks > settings["sms"]) return TOO_LARGE;
    *made = new Graph(*g);
    held[4]++;
    return OK;
}
API CUresult cuGraphUpload(Graph *, Queue *) { HERE return OK; }
API CUresult cuGraphLaunch(Graph *g, Queue *q) {
    HERE
    if (q->capturing) return CAPTURE_UNSUPPORTED;
    for (auto &n : g->nodes) run(q, n);
    return OK;
}
API CUresult cuGraphExecDestroy(Graph *g) { HERE delete g; held[4]--; return OK; }
API CUresult cuGraphDestroy(Graph *g) { HERE delete g; held[4]--; return OK; }
API CUresult cuStreamDestroy_v2(Queue *q) { HERE queues.erase(q); delete q; held[1]--; return OK; }
API CUresult cuStreamQuery(Queue *q) {
    HERE
    if (q->capturing) return CAPTURE_UNSUPPORTED;
    if (q->running && !q->running->done()) {
        std::lock_guard<std::mutex> lock(guard);
        return q->lacking && settings["upset"] ? failed(settings["upset"]) : NOT_READY;
    }
    q->running.reset();
    return OK;
}
API CUresult cuEventCreate(Mark **m, unsigned) { HERE *m = new Mark; held[2]++; return OK; }
API CUresult cuEventDestroy_v2(Mark *m) { HERE delete m; held[2]--; return OK; }
API CUresult cuEventRecord(Mark *m, Queue *q) {
    HERE
    if (q->capturing) return CAPTURE_UNSUPPORTED;
    q->running.reset();
    m->at = std::chrono::steady_clock::now();
    return OK;
}
// Grids end before an event is recorded here: that the host was in time is as told.
API CUresult cuEventQuery(Mark *) {
    HERE
    return slow++ < settings["slow"] ? OK : NOT_READY;
}
API CUresult cuEventElapsedTime(float *ms, Mark *a, Mark *b) {
    HERE
    *ms = std::chrono::duration<float, std::milli>(b->at - a->at).count();
    return OK;
}
