// Loads and stores of user memory, which begins at any element: whole words where
// they are aligned, elsewhere the largest aligned pieces.
#pragma once

#include "platform.h"

// loadPart assembles the first bytes of a word. It is rare, and not inlined: the
// loops around it stay small.
DEVICE_CALL u64 loadPart(u64 address, int bytes) {
    u64 word = 0;
#pragma unroll 1
    for (int at = 0; at < bytes;) {
        u64 p = address + at;
        int left = bytes - at;
        if (left >= 4 && (p & 3) == 0) {
            word |= (u64)load<u32>(p) << (8 * at);
            at += 4;
        } else if (left >= 2 && (p & 1) == 0) {
            word |= (u64)load<u16>(p) << (8 * at);
            at += 2;
        } else {
            word |= (u64)load<u8>(p) << (8 * at);
            at++;
        }
    }
    return word;
}

DEVICE_CALL void storePart(u64 address, u64 word, int bytes) {
#pragma unroll 1
    for (int at = 0; at < bytes;) {
        u64 p = address + at;
        int left = bytes - at;
        if (left >= 4 && (p & 3) == 0) {
            store<u32>(p, (u32)(word >> (8 * at)));
            at += 4;
        } else if (left >= 2 && (p & 1) == 0) {
            store<u16>(p, (u16)(word >> (8 * at)));
            at += 2;
        } else {
            store<u8>(p, (u8)(word >> (8 * at)));
            at++;
        }
    }
}

// loadWords loads bytes from an address into n words, and fills up with 0.
template <int n> DEVICE void loadWords(u64 *words, u64 address, i64 bytes) {
    if (n == 2 && bytes >= 16 && (address & 15) == 0) {
        load16(address, words);
        return;
    }
#pragma unroll
    for (int i = 0; i < n; i++) {
        i64 left = bytes - 8 * i;
        if (left >= 8 && (address & 7) == 0)
            words[i] = load<u64>(address + 8 * i);
        else
            words[i] = left <= 0 ? 0 : loadPart(address + 8 * i, left < 8 ? (int)left : 8);
    }
}

template <int n> DEVICE void storeWords(u64 address, const u64 *words, i64 bytes) {
    if (n == 2 && bytes >= 16 && (address & 15) == 0) {
        store16(address, words);
        return;
    }
#pragma unroll
    for (int i = 0; i < n; i++) {
        i64 left = bytes - 8 * i;
        if (left >= 8 && (address & 7) == 0)
            store<u64>(address + 8 * i, words[i]);
        else if (left > 0)
            storePart(address + 8 * i, words[i], left < 8 ? (int)left : 8);
    }
}

// Place is where a part of a chunk lies.
struct Place {
    Chunk chunk;
    i64 inPlace; // bytes of the chunk that lie at its address
};

// loadUnit loads bytes of a chunk from an offset on into n words. The chunk's last
// element may lie apart.
template <int n> DEVICE void loadUnit(u64 *words, const Place &p, i64 offset, i64 bytes, int elementBytes) {
    if (offset + bytes <= p.inPlace) {
        loadWords<n>(words, p.chunk.address + offset, bytes);
        return;
    }
    i64 most = bytes - elementBytes;
    loadWords<n>(words, p.chunk.address + offset, most);
    u64 last = loadPart(p.chunk.aside, elementBytes) << (most % 8 * 8);
#pragma unroll
    for (int i = 0; i < n; i++)
        if (i == most / 8) words[i] |= last;
}

template <int n> DEVICE void storeUnit(const Place &p, const u64 *words, i64 offset, i64 bytes, int elementBytes) {
    if (offset + bytes <= p.inPlace) {
        storeWords<n>(p.chunk.address + offset, words, bytes);
        return;
    }
    i64 most = bytes - elementBytes;
    storeWords<n>(p.chunk.address + offset, words, most);
#pragma unroll
    for (int i = 0; i < n; i++)
        if (i == most / 8) storePart(p.chunk.aside, words[i] >> (most % 8 * 8), elementBytes);
}
