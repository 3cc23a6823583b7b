// Inputs and expected results: the arithmetic of package executor/data, written
// again. Nothing here depends on the program.
#pragma once

#include "elements.h"
#include "memory.h"

DEVICE u64 hashOf(u64 seed, u32 rank, u64 element) {
    u64 x = seed * 0x2545f4914f6cdd1dull + rank * 0xd1b54a32d192ed03ull + element * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
DEVICE u64 below(u64 h, u64 n) { return (h >> 32) * n >> 32; }

DEVICE bool itsTurn(const Generator &g, u32 rank, u64 element) {
    return g.k == 1 || (rank + (hashOf(g.seed, 0xffffffffu, element) >> 32)) % g.k == 0;
}

// numberOf is an element of a float type's input, as a double.
DEVICE double numberOf(const Generator &g, u32 rank, u64 element) {
    u64 h = hashOf(g.seed, rank, element);
    bool turn = itsTurn(g, rank, element);
    if (g.form == INTEGER) return turn ? (double)((i64)below(h, 2 * (u64)g.m + 1) - (i64)g.m) : 0;
    u64 power = turn ? below(h, 3) : 1;
    double v = power == 0 ? 0.5 : power == 1 ? 1.0 : 2.0;
    return h & 1 ? -v : v;
}

// Family is how a type's inputs are computed: in double, which holds every
// partial result, or modulo 2^64.
template <class E> struct Family {
    typedef typename E::Stored Stored;
    typedef Stored Value; // integers: the shift down keeps their sign
    static DEVICE_MEMBER Value input(const Generator &g, u32 rank, u64 element) {
        u64 h = hashOf(g.seed, rank, element);
        return (Value)(g.form == ODD_BITS ? h | 1 : h);
    }
    static DEVICE_MEMBER Stored stored(Value v) { return v; }
};
template <class E> struct Floats {
    typedef typename E::Stored Stored;
    typedef double Value;
    static DEVICE_MEMBER Value input(const Generator &g, u32 rank, u64 element) { return numberOf(g, rank, element); }
    static DEVICE_MEMBER Stored stored(Value v) { return E::narrow((typename E::Value)v); }
};
template <> struct Family<ElementF16> : Floats<ElementF16> {};
template <> struct Family<ElementBF16> : Floats<ElementBF16> {};
template <> struct Family<ElementF32> : Floats<ElementF32> {};
template <> struct Family<ElementF64> : Floats<ElementF64> {};

// Where nothing is reduced, floats are any bits, NaNs among them: they are copied
// and must not pass through arithmetic.
template <int bytes> struct BitsOfSize;
template <> struct BitsOfSize<1> { typedef u8 type; };
template <> struct BitsOfSize<2> { typedef u16 type; };
template <> struct BitsOfSize<4> { typedef u32 type; };
template <> struct BitsOfSize<8> { typedef u64 type; };

template <class E> struct Wanted {
    typedef typename E::Stored Stored;
    typedef typename BitsOfSize<sizeof(Stored)>::type Bits;

    static DEVICE_MEMBER Bits input(const Generator &g, u32 rank, u64 element) {
        if (g.form == BITS || g.form == ODD_BITS) return (Bits)(hashOf(g.seed, rank, element) | (g.form == ODD_BITS));
        return bitsOf<Bits>(Family<E>::stored(Family<E>::input(g, rank, element)));
    }

    // result is the expected element e of an output chunk.
    static DEVICE_MEMBER Bits result(const Reference &r, u32 firstTerm, u32 terms, u64 e) {
        u64 at = r.terms + sizeof(Term) * (u64)firstTerm;
        if (terms == 1) return input(r.generator, load<u32>(at), load<u64>(at + 8) + e);
        typedef typename Family<E>::Value Value;
        Value acc = Family<E>::input(r.generator, load<u32>(at), load<u64>(at + 8) + e);
        for (u32 i = 1; i < terms; i++) {
            at += sizeof(Term);
            Value v = Family<E>::input(r.generator, load<u32>(at), load<u64>(at + 8) + e);
            switch (r.reduction) {
            case PROD: acc = combineValues<PROD>(acc, v); break;
            case MIN: acc = combineValues<MIN>(acc, v); break;
            case MAX: acc = combineValues<MAX>(acc, v); break;
            default: acc = combineValues<SUM>(acc, v); break;
            }
        }
        if (r.reduction == AVG) acc = divided(acc, terms);
        return bitsOf<Bits>(Family<E>::stored(acc));
    }
};

template <class E> DEVICE void fillInput(const Fill &f) {
    typedef typename Wanted<E>::Bits Bits;
    u64 apart = (u64)blockCount() * threadCount();
    for (u64 e = (u64)blockIndex() * threadCount() + threadIndex(); e < f.elements; e += apart)
        store<Bits>(f.address + e * sizeof(Bits), Wanted<E>::input(f.generator, f.rank, e));
}

template <class E> DEVICE void spreadElement(const Spread &s) {
    typedef typename Wanted<E>::Bits Bits;
    u64 apart = (u64)blockCount() * threadCount();
    for (u64 e = (u64)blockIndex() * threadCount() + threadIndex(); e < s.elements; e += apart)
        store<Bits>(s.address + e * sizeof(Bits), (Bits)s.bits);
}

// compare goes over all output chunks of a rank in runs of elements, so that few
// large chunks fill the device as well as many small ones.
template <class E> DEVICE void compare(const Reference &r) {
    typedef typename Wanted<E>::Bits Bits;
    u64 all = (u64)r.wantCount * r.chunkElements, apart = (u64)blockCount() * threadCount(), wrong = 0;
    for (u64 i = (u64)blockIndex() * threadCount() + threadIndex(); i < all; i += apart) {
        u64 chunk = i / r.chunkElements, e = i - chunk * r.chunkElements;
        u64 want = r.wants + sizeof(Want) * chunk;
        u32 terms = load<u32>(want + 20);
        if (e >= load<u64>(want + 8) || terms == 0) continue;
        u64 where = load<u64>(want) + e * sizeof(Bits);
        Bits right = Wanted<E>::result(r, load<u32>(want + 16), terms, e);
        if (r.spoil)
            store<Bits>(where, (Bits)~right);
        else if (load<Bits>(where) != right)
            wrong++;
    }
    if (wrong) addCount(r.wrong, wrong);
}
