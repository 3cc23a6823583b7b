// The tables that the host hands the kernels in a device's memory. image.go has the
// same layout, field by field. Addresses are 64 bits wide everywhere.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

// What a step does, as bits: an instruction of package ir is several of them.
// FLAGS: other threadblocks wait for it. SMALL: it moves one tile of one chunk, at
// most one whole, aligned line per thread.
enum Does { RECEIVES = 1, SENDS = 2, LOADS = 4, STORES = 8, REDUCES = 16, FLAGS = 32, SMALL = 64, CONNECTED = RECEIVES | SENDS };

// Reductions. An average is a sum that is divided at the end of the launch.
enum Reduction { SUM, PROD, MIN, MAX, AVG };

// What messages order besides their data: nothing; the sender's completed reads, for
// which a GPU needs no fence but the thread sanitizer an order; all memory, with
// fences.
enum Order { UNORDERED, READS_BEFORE, FENCED };

// What a threadblock can wait for.
enum Waiting { FOR_NOTHING, FOR_SLOT, FOR_MESSAGE, FOR_STEP, FOR_RANK };

// Chunk is a chunk's place. A chunk that is an element shorter than the messages
// keeps that element apart; 0: it lies with the others.
struct Chunk {
    u64 address;
    u64 aside;
};

// Step is one instruction. It repeats its first chunks, so that a step of one chunk
// needs no load from the table of chunks.
struct alignas(16) Step {
    Chunk src, dst;           // the first
    u32 srcChunk, dstChunk;   // the first, in the table of chunks
    i32 srcStride, dstStride; // in entries of that table
    u32 count;                // chunks
    u32 dependencies;         // the first, in the table of dependencies
    u16 does;
    u16 dependencyCount;
    u32 index;       // in the program
    u32 sources;     // of a local reduction: chunks that are reduced into dst in turn
    u32 bytes;       // of a small step
    i64 sourceApart; // bytes from one source to the next
};

// Dependency is a step of another threadblock of the same rank, which has to end first.
struct Dependency {
    u64 semaphore; // address
    u32 steps;     // of that threadblock
    u32 step;
    u32 threadblock;
    u32 unused;
};

// End is one end of a connection. The slots and the tail lie on the receiving
// device, the head on the sending one, so that each polls its own memory.
struct End {
    u64 slots;
    u64 tail; // calls sent
    u64 head; // calls received
};

// State is a threadblock's state from launch to launch. Counters are never reset:
// they only grow.
struct State {
    u64 turn; // tiles done
    u64 sent, received;
    u32 sendSlot, receiveSlot; // where the next call goes
};

// Block is a threadblock of the program, run by one block of the grid. A copy of its
// first steps follows it, so that one load brings all that a short program needs.
#define FIRST_STEPS 4
struct alignas(16) Block {
    State state;
    u64 steps; // address
    u64 semaphore;
    End send, receive;
    u32 stepCount; // in its table
    u32 rank, threadblock;
    i32 sendTo, receiveFrom;
    u32 rankBlocks;  // threadblocks of the rank
    u32 rankBlock;   // which of them this is
    u32 results;     // of the rank: the first, in the table of results
    u32 resultCount; // and their number
    u32 programSteps; // steps of the program's threadblock, several of which may be one step here
    u64 finished; // address: threadblocks of the rank that have come to the end, over all launches
    u32 sends, receives;         // calls of a launch
    u32 sendSlots, receiveSlots; // by how many slots a launch advances, modulo their number
};

// Exchange is a rank's program that one block runs (exchange.h); exchange.go says
// which programs are one. Its parts and its arms follow it, as many as the launch
// says for all ranks: parts without messages fill up.
struct alignas(16) Exchange {
    u64 turn; // launches done
    u32 rank;
    u32 results, resultCount; // as a Block's
    u32 unused[3];
};

// Part is a step of an exchange. A part that is APART receives or sends messages of
// one chunk each. Any other has one value, reduced from chunks and messages, which
// is stored and sent.
enum PartDoes { READS = 1, ADDS = 2, WRITES = 4, APART = 8 };
struct alignas(16) Part {
    u64 src;        // address of the chunk that the value begins with, if it READS
    u64 dst;        // address of the chunk that it ADDS or WRITES
    u32 first;      // of its arms: first those that are received, then those that are sent
    u32 does;
    u32 comes, goes; // messages received and sent
};

// Arm is a message of an exchange: one of the calls that its connection makes in a
// launch.
struct alignas(16) Arm {
    u64 slots; // as an End's
    u16 each, before; // calls of the connection in a launch, and those before this one
    u32 sends;
    u64 address; // of its chunk, if its part is APART
    u64 head;    // as an End's
};

// Status lies in the host's memory, where it can be read while a kernel hangs.
struct Status {
    u32 cancel; // set by the host
    u32 waiting;
    u32 rank, threadblock, step, tile;
    i32 peer; // the rank or the threadblock waited for
    u32 peerStep;
};

// Result is an output chunk whose sum is to be divided.
struct Result {
    u64 address, elements, terms;
};

// Launch is the parameter of the interpreter.
struct Launch {
    u64 blocks, chunks, dependencies, results; // addresses of the tables
    u64 status;                       // address, host's memory
    u64 claim;                        // address: who may write the status
    u64 timeout;                      // nanoseconds a launch may take
    u64 slotBytes;
    u32 tiles;
    u32 chunkElements; // of a message's chunk: those of the largest chunk
    u32 tileElements;
    u32 perCall; // chunks in a call
    u32 slots;
    u32 reduction;
    u32 ordered; // an Order: what messages order besides their data
    u32 system;  // connections lead to other devices
    u32 parts, arms; // of an exchange
};

// Inputs and expected results, as in package executor/data.

// Forms of inputs, in the order of executor/data.
enum Form { BITS, ODD_BITS, INTEGER, POWER };

// Generator is how an input is made.
struct Generator {
    u64 seed;
    u32 form, m, k;
    u32 unused;
};

// Fill is the parameter of fill: a run of elements of a rank's input.
struct Fill {
    Generator generator;
    u64 address, elements;
    u32 rank, unused;
};

// Spread is the parameter of spread: the same element everywhere.
struct Spread {
    u64 address, elements, bits;
};

// Term is an input chunk that is reduced into an output chunk.
struct Term {
    u32 rank, unused;
    u64 first; // element
};

// Want is an output chunk and the terms whose reduction it must be.
struct Want {
    u64 address, elements;
    u32 term, terms; // the first, in the table of terms, and their number
};

// Reference is the parameter of reference. With spoil, reference writes the complement
// of the expected output; without, it counts the elements that differ from it.
struct Reference {
    Generator generator;
    u64 wants, terms; // addresses of the tables
    u64 wrong;        // address of the count
    u64 chunkElements;
    u32 wantCount, reduction, spoil, unused;
};

// Hold is the parameter of hold: how long to keep a device busy.
struct Hold {
    u64 nanoseconds;
};

// Hop is the parameter of hop: two lines of LL that two blocks write in turn.
struct Hop {
    u64 there, back; // addresses
    u64 rounds;
    u64 timeout; // nanoseconds
};

static_assert(sizeof(Hold) == 8, "Hold");
static_assert(sizeof(Hop) == 32, "Hop");
static_assert(sizeof(Generator) == 24, "Generator");
static_assert(sizeof(Fill) == 48, "Fill");
static_assert(sizeof(Spread) == 24, "Spread");
static_assert(sizeof(Term) == 16, "Term");
static_assert(sizeof(Want) == 24, "Want");
static_assert(sizeof(Reference) == 72, "Reference");
static_assert(sizeof(Chunk) == 16, "Chunk");
static_assert(sizeof(Step) == 80, "Step");
static_assert(sizeof(Dependency) == 24, "Dependency");
static_assert(sizeof(Result) == 24, "Result");
static_assert(sizeof(Block) == 160, "Block");
static_assert(sizeof(State) == 32, "State");
static_assert(sizeof(Status) == 32, "Status");
static_assert(sizeof(Launch) == 104, "Launch");
static_assert(sizeof(Exchange) == 32, "Exchange");
static_assert(sizeof(Part) == 32, "Part");
static_assert(sizeof(Arm) == 32, "Arm");
