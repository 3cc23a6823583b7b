// Element types and their reductions. Words of eight bytes are reduced element by
// element, in registers.
#pragma once

#include "platform.h"

// Halves compute in float and round once: the result is the correctly rounded sum
// or product of two.
struct ElementF16 {
    typedef u16 Stored;
    typedef float Value;
    static DEVICE_MEMBER Value widen(Stored s) { return halfToFloat(s); }
    static DEVICE_MEMBER Stored narrow(Value v) { return floatToHalf(v); }
};

template <typename To, typename From> DEVICE To bitsOf(From from) {
    union { From from; To to; } both;
    both.from = from;
    return both.to;
}

struct ElementBF16 {
    typedef u16 Stored;
    typedef float Value;
    static DEVICE_MEMBER Value widen(Stored s) { return bitsOf<float>((u32)s << 16); }
    static DEVICE_MEMBER Stored narrow(Value v) {
        u32 bits = bitsOf<u32>(v);
        if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
        return (Stored)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
};

// Plain is a type that computes in itself.
template <typename T> struct Plain {
    typedef T Stored;
    typedef T Value;
    static DEVICE_MEMBER Value widen(Stored s) { return s; }
    static DEVICE_MEMBER Stored narrow(Value v) { return v; }
};
typedef Plain<float> ElementF32;
typedef Plain<double> ElementF64;
typedef Plain<signed char> ElementI8;
typedef Plain<u8> ElementU8;
typedef Plain<i32> ElementI32;
typedef Plain<u32> ElementU32;
typedef Plain<i64> ElementI64;
typedef Plain<u64> ElementU64;

// Wrapping is the unsigned type in which a signed type's sums and products are
// computed: they wrap around, as the hardware's do.
template <typename T> struct Wrapping { typedef T type; };
template <> struct Wrapping<signed char> { typedef u8 type; };
template <> struct Wrapping<i32> { typedef u32 type; };
template <> struct Wrapping<i64> { typedef u64 type; };

template <int reduction, typename V> DEVICE V combineValues(V a, V b) {
    typedef typename Wrapping<V>::type W;
    switch (reduction) {
    case PROD: return (V)((W)a * (W)b);
    case MIN: return b < a ? b : a;
    case MAX: return a < b ? b : a;
    default: return (V)((W)a + (W)b);
    }
}

// combine reduces two words element by element.
template <typename E, int reduction> DEVICE u64 combine(u64 a, u64 b) {
    const int bytes = sizeof(typename E::Stored), bits = 8 * bytes;
    if (bytes == 8) {
        typename E::Stored x = bitsOf<typename E::Stored>(a), y = bitsOf<typename E::Stored>(b);
        return bitsOf<u64>(E::narrow(combineValues<reduction>(E::widen(x), E::widen(y))));
    }
    union Elements {
        u64 word;
        typename E::Stored all[8 / bytes];
    };
    Elements x, y;
    x.word = a;
    y.word = b;
#pragma unroll
    for (int i = 0; i < 64 / bits; i++)
        x.all[i] = E::narrow(combineValues<reduction>(E::widen(x.all[i]), E::widen(y.all[i])));
    return x.word;
}

// An average is a sum divided once. n may be more than an element can hold.
DEVICE float divided(float v, u64 n) { return v / (float)n; }
DEVICE double divided(double v, u64 n) { return v / (double)n; }
DEVICE u64 divided(u64 v, u64 n) { return v / n; }
DEVICE u32 divided(u32 v, u64 n) { return (u32)(v / n); }
DEVICE u8 divided(u8 v, u64 n) { return (u8)(v / n); }
DEVICE i64 divided(i64 v, u64 n) { return v / (i64)n; }
DEVICE i32 divided(i32 v, u64 n) { return (i32)(v / (i64)n); }
DEVICE signed char divided(signed char v, u64 n) { return (signed char)(v / (i64)n); }
