/* A libnccl or librccl, a libcuda and a libamdhip64 in one, for tests: device memory is memory, streams
 * do at once what they are given, and a group's calls are made when it ends.
 * FAKE_FAULT names what goes wrong; FAKE_CALLS a file that every call is noted
 * in; FAKE_DEVICES is how many there are. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RANKS 16
#define CALLS 4096

static int fault(const char *name) {
  const char *f = getenv("FAKE_FAULT");
  return f != NULL && strcmp(f, name) == 0;
}

static void note(const char *call) {
  const char *path = getenv("FAKE_CALLS");
  FILE *f = path ? fopen(path, "a") : NULL;
  if (f == NULL) return;
  fprintf(f, "%s\n", call);
  fclose(f);
}

static int devices(void) {
  const char *n = getenv("FAKE_DEVICES");
  return n ? atoi(n) : 4;
}

/* The driver. */

static long allocated;

int cuInit(unsigned flags) { (void)flags; note("cuInit"); return fault("no device") ? 100 : 0; }
int cuDriverGetVersion(int *v) { *v = 12090; return 0; }
int cuDeviceGetCount(int *n) { *n = devices(); return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetName(char *s, int n, int d) { (void)d; snprintf(s, n, "FAKE GPU"); return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)(intptr_t)(d + 1); return 0; }
int cuCtxSetCurrent(void *c) { (void)c; return 0; }
int cuMemAlloc_v2(uint64_t *p, size_t n) {
  if (fault("out of memory") && n > (1 << 20)) return 2;
  *p = (uint64_t)(uintptr_t)malloc(n);
  allocated++;
  return 0;
}
int cuMemFree_v2(uint64_t p) {
  free((void *)(uintptr_t)p);
  if (--allocated == 0) note("all freed");
  return 0;
}
/* A copy to the device returns while the last of it is staged. It arrives with the
 * next copy, or when somebody waits. */
static struct { void *to, *bytes; size_t n; } staged;
static void arrive(void) {
  if (staged.n > 0) memcpy(staged.to, staged.bytes, staged.n);
  free(staged.bytes);
  staged.bytes = NULL;
  staged.n = 0;
}
int cuCtxSynchronize(void) { arrive(); return 0; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n) {
  arrive();
  staged.n = n < 65536 ? n : 65536;
  staged.to = (char *)(uintptr_t)to + n - staged.n;
  staged.bytes = malloc(staged.n);
  memcpy(staged.bytes, (const char *)from + n - staged.n, staged.n);
  memcpy((void *)(uintptr_t)to, from, n - staged.n);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) { arrive(); memcpy(to, (void *)(uintptr_t)from, n); return 0; }
int cuStreamCreate(void **s, unsigned flags) { (void)flags; *s = malloc(1); return 0; }
int cuStreamQuery(void *s) {
  (void)s;
  static int asked;
  if (fault("device lost")) return 700;
  if (fault("asynchronous")) return 600;
  return ++asked % 3 == 1 ? 600 : 0;
}
int cuEventCreate(void **e, unsigned flags) { (void)flags; *e = calloc(1, sizeof(double)); return 0; }
int cuEventRecord(void *e, void *s) {
  (void)s;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  *(double *)e = t.tv_sec * 1e3 + t.tv_nsec / 1e6;
  return 0;
}
int cuEventElapsedTime(float *ms, void *a, void *b) { *ms = (float)(*(double *)b - *(double *)a); return 0; }
int cuGetErrorString(int code, const char **s) {
  *s = code == 2 ? "out of memory" : code == 100 ? "no CUDA-capable device is detected" : code == 700 ? "an illegal memory access was encountered" : "unknown";
  return 0;
}

/* AMD's runtime: the same, under its names, with a device for the thread. */

static int current;

int hipInit(unsigned flags) { (void)flags; note("hipInit"); return fault("no device") ? 100 : 0; }
int hipDriverGetVersion(int *v) { *v = 60241133; return 0; }
int hipGetDeviceCount(int *n) { *n = devices(); return 0; }
int hipDeviceGetName(char *s, int n, int d) { (void)d; snprintf(s, n, "FAKE INSTINCT"); return 0; }
int hipSetDevice(int d) { current = d; return d < devices() ? 0 : 101; }
int hipMalloc(void **p, size_t n) {
  uint64_t at = 0;
  int code = cuMemAlloc_v2(&at, n);
  *p = (void *)(uintptr_t)at;
  return code;
}
int hipFree(void *p) { return cuMemFree_v2((uint64_t)(uintptr_t)p); }
int hipMemcpy(void *to, const void *from, size_t n, int direction) {
  note(direction == 1 ? "hipMemcpy to device" : direction == 2 ? "hipMemcpy from device" : "hipMemcpy nowhere");
  if (direction != 1 && direction != 2) return 21;
  uint64_t at = (uint64_t)(uintptr_t)to;
  return direction == 1 ? cuMemcpyHtoD_v2(at, from, n) : cuMemcpyDtoH_v2(to, (uint64_t)(uintptr_t)from, n);
}
int hipDeviceSynchronize(void) { return cuCtxSynchronize(); }
int hipStreamCreateWithFlags(void **s, unsigned flags) { return flags == 1 ? cuStreamCreate(s, flags) : 1; }
int hipStreamQuery(void *s) { return cuStreamQuery(s); }
int hipEventCreate(void **e) { return cuEventCreate(e, 0); }
int hipEventRecord(void *e, void *s) { return cuEventRecord(e, s); }
int hipEventElapsedTime(float *ms, void *a, void *b) { return cuEventElapsedTime(ms, a, b); }
const char *hipGetErrorString(int code) {
  const char *s;
  cuGetErrorString(code, &s);
  return s;
}

/* The library. */

enum { ALLREDUCE, ALLGATHER, REDUCESCATTER, BROADCAST, REDUCE, SEND, RECV };

struct call { int kind; const char *from; char *to; size_t count; int type, op, peer, rank, done; };
static struct call calls[CALLS];
static int pending, ranks;
static const size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

static FILE *log_file(void) {
  const char *path = getenv("NCCL_DEBUG_FILE");
  return getenv("NCCL_DEBUG") && path ? fopen(path, "a") : NULL;
}

int ncclGetVersion(int *v) { *v = fault("old") ? 2604 : 22707; return 0; }
const char *ncclGetErrorString(int code) { return code == 1 ? "unhandled cuda error (run with NCCL_DEBUG=INFO for details)" : code == 3 ? "internal error" : code == 6 ? "remote process exited or there was a network error" : "some error"; }
const char *ncclGetLastError(void *c) { (void)c; return ""; }
int ncclCommInitAll(void **comms, int n, const int *list) {
  (void)list;
  note("ncclCommInitAll");
  if (fault("init")) return 3;
  ranks = n;
  for (int i = 0; i < n; i++) comms[i] = (void *)(intptr_t)(i + 1);
  FILE *f = log_file();
  if (f) {
    extern char **environ;
    for (char **e = environ; *e; e++) {
      char *eq = strchr(*e, '=');
      if (strncmp(*e, "NCCL_", 5) == 0 && eq) fprintf(f, "host:1:1 [0] NCCL INFO %.*s set by environment to %s.\n", (int)(eq - *e), *e, eq + 1);
    }
    const char *ch = getenv("NCCL_MAX_NCHANNELS");
    fprintf(f, "host:1:1 [0] NCCL INFO %s coll channels, 0 collnet channels\n", ch ? ch : "4");
    fclose(f);
  }
  return 0;
}
int ncclCommAbort(void *c) { (void)c; return 0; }
int ncclCommGetAsyncError(void *c, int *code) { (void)c; *code = fault("asynchronous") ? 6 : 0; return 0; }
int ncclGroupStart(void) { pending = 0; return 0; }

static int add(struct call c, void *comm) {
  c.rank = (int)(intptr_t)comm - 1;
  if (pending == CALLS) return 5;
  calls[pending++] = c;
  return 0;
}
int ncclAllReduce(const void *s, void *r, size_t n, int type, int op, void *c, void *st) { (void)st; note("ncclAllReduce"); return add((struct call){ALLREDUCE, s, r, n, type, op, 0, 0, 0}, c); }
int ncclAllGather(const void *s, void *r, size_t n, int type, void *c, void *st) { (void)st; note("ncclAllGather"); return add((struct call){ALLGATHER, s, r, n, type, 0, 0, 0, 0}, c); }
int ncclReduceScatter(const void *s, void *r, size_t n, int type, int op, void *c, void *st) { (void)st; note("ncclReduceScatter"); return add((struct call){REDUCESCATTER, s, r, n, type, op, 0, 0, 0}, c); }
int ncclBroadcast(const void *s, void *r, size_t n, int type, int root, void *c, void *st) { (void)st; note("ncclBroadcast"); return add((struct call){BROADCAST, s, r, n, type, 0, root, 0, 0}, c); }
int ncclReduce(const void *s, void *r, size_t n, int type, int op, int root, void *c, void *st) { (void)st; note("ncclReduce"); return add((struct call){REDUCE, s, r, n, type, op, root, 0, 0}, c); }
int ncclSend(const void *s, size_t n, int type, int peer, void *c, void *st) { (void)st; note("ncclSend"); return add((struct call){SEND, s, NULL, n, type, 0, peer, 0, 0}, c); }
int ncclRecv(void *r, size_t n, int type, int peer, void *c, void *st) { (void)st; note("ncclRecv"); return add((struct call){RECV, NULL, r, n, type, 0, peer, 0, 0}, c); }

/* The 16-bit floats, as pairs of functions to and from float. */

static float from_bf16(uint16_t b) { uint32_t u = (uint32_t)b << 16; float f; memcpy(&f, &u, 4); return f; }
static uint16_t to_bf16(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static float from_f16(uint16_t h) {
  int exponent = h >> 10 & 31, fraction = h & 1023;
  float f = exponent ? 1024 + fraction : fraction;
  for (int e = exponent ? exponent : 1; e < 25; e++) f /= 2;
  for (int e = exponent; e > 25; e--) f *= 2;
  return h >> 15 ? -f : f;
}
/* To the nearest, ties to even: the largest of all f16 up to f, then its neighbours. */
static uint16_t to_f16(float f) {
  uint16_t sign = f < 0 ? 0x8000 : 0, low = 0, high = 0x7c00;
  if (f < 0) f = -f;
  while (high - low > 1) {
    uint16_t mid = (uint16_t)((low + high) / 2);
    if (from_f16(mid) <= f) low = mid; else high = mid;
  }
  float below = f - from_f16(low), above = from_f16(high) - f;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

#define SAME(x) (x)
#define REDUCE_AS(T, WIDE, FROM, TO)                                          \
  for (size_t i = 0; i < n; i++) {                                            \
    WIDE a = FROM(((const T *)of[0]->from)[off + i]);                         \
    for (int k = 1; k < ranks; k++) {                                         \
      WIDE b = FROM(((const T *)of[k]->from)[off + i]);                       \
      switch (of[0]->op) {                                                    \
        case 1: a = a * b; break;                                             \
        case 2: a = a > b ? a : b; break;                                     \
        case 3: a = a < b ? a : b; break;                                     \
        default: a = a + b;                                                   \
      }                                                                       \
      a = FROM((T)TO(a));                                                     \
    }                                                                         \
    if (of[0]->op == 4) a = a / (WIDE)ranks;                                  \
    ((T *)out)[i] = TO(a);                                                    \
  }

static void reduced(struct call *of[], size_t off, size_t n, char *out) {
  switch (of[0]->type) {
    case 0: REDUCE_AS(int8_t, int8_t, SAME, SAME) break;
    case 1: REDUCE_AS(uint8_t, uint8_t, SAME, SAME) break;
    case 2: REDUCE_AS(int32_t, int32_t, SAME, SAME) break;
    case 3: REDUCE_AS(uint32_t, uint32_t, SAME, SAME) break;
    case 4: REDUCE_AS(int64_t, int64_t, SAME, SAME) break;
    case 5: REDUCE_AS(uint64_t, uint64_t, SAME, SAME) break;
    case 6: REDUCE_AS(uint16_t, float, from_f16, to_f16) break;
    case 7: REDUCE_AS(float, float, SAME, SAME) break;
    case 8: REDUCE_AS(double, double, SAME, SAME) break;
    case 9: REDUCE_AS(uint16_t, float, from_bf16, to_bf16) break;
  }
}

int ncclGroupEnd(void) {
  if (fault("unhandled")) return 1;
  if (fault("hang")) for (;;) sleep(1);
  if (fault("dies")) abort();
  struct call *of[RANKS] = {0};
  for (int i = 0; i < pending; i++) if (calls[i].kind < SEND) of[calls[i].rank] = &calls[i];
  if (of[0]) {
    size_t n = of[0]->count, w = widths[of[0]->type];
    char *result = malloc(n * w * ranks + 1);
    int kind = of[0]->kind;
    if (kind == ALLREDUCE || kind == REDUCE) reduced(of, 0, n, result);
    if (kind == REDUCESCATTER) reduced(of, 0, n * ranks, result);
    if (kind == ALLGATHER) for (int k = 0; k < ranks; k++) memcpy(result + k * n * w, of[k]->from, n * w);
    if (kind == BROADCAST) memcpy(result, of[of[0]->peer]->from, n * w);
    for (int k = 0; k < ranks; k++) {
      if (kind == REDUCE && k != of[0]->peer) continue;
      char *from = kind == REDUCESCATTER ? result + k * n * w : result;
      memcpy(of[k]->to, from, kind == ALLGATHER ? n * w * ranks : n * w);
      if (fault("wrong") && k == 1) of[k]->to[0] ^= 1;
    }
    free(result);
    FILE *f = log_file();
    if (f) {
      static const char *names[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce"};
      const char *algo = getenv("NCCL_ALGO"), *proto = getenv("NCCL_PROTO"), *ch = getenv("NCCL_MAX_NCHANNELS");
      if (algo && strcmp(algo, "NVLS") == 0) {
        fprintf(f, "host:1:1 [0] NCCL WARN Error : no algorithm/protocol available for function %s\n", names[kind]);
        fclose(f);
        return 3;
      }
      if (algo && strcmp(algo, "PAT") == 0) algo = "RING";
      fprintf(f, "host:1:1 [0] NCCL INFO %s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}\n", names[kind], n * w, algo ? algo : "RING", proto ? proto : "SIMPLE", (ch ? atoi(ch) : 4) - 1);
      fclose(f);
    }
  }
  for (int i = 0; i < pending; i++) {
    if (calls[i].kind != SEND) continue;
    int found = 0;
    for (int j = 0; j < pending && !found; j++) {
      struct call *r = &calls[j];
      if (r->kind != RECV || r->done || r->rank != calls[i].peer || r->peer != calls[i].rank) continue;
      if (r->count != calls[i].count) return 4;
      memmove(r->to, calls[i].from, r->count * widths[r->type]);
      r->done = found = 1;
    }
    if (!found) return 4; /* a send that nobody receives */
  }
  for (int i = 0; i < pending; i++) if (calls[i].kind == RECV && !calls[i].done) return 4;
  pending = 0;
  return 0;
}
