// A machine for tests: memory and launches, asked for on standard input and
// answered on standard output. Numbers are 64 bits, little endian.
//
//	A bytes                                  answers an address
//	W address bytes data…    M address bytes value
//	R address bytes                          answers the data
//	L device kernel blocks threads bytes data…   starts a launch, after the device's last
//	S                                        waits for all launches, answers 0
#include <stdio.h>
#include <stdlib.h>

#include <map>

#include "grid.h"

static u64 number() {
    u64 n;
    if (fread(&n, sizeof n, 1, stdin) != 1) exit(1);
    return n;
}

static std::vector<unsigned char> data(u64 n) {
    std::vector<unsigned char> all(n);
    if (n > 0 && fread(all.data(), 1, n, stdin) != n) exit(1);
    return all;
}

static void answer(const void *p, size_t n) {
    fwrite(p, 1, n, stdout);
    fflush(stdout);
}

int main() {
    std::map<u64, std::unique_ptr<Grid>> launches; // by device
    for (int c; (c = getchar()) != EOF;) {
        switch (c) {
        case 'A': {
            u64 n = number(), address = (u64)aligned_alloc(256, (n + 255) / 256 * 256);
            answer(&address, sizeof address);
            break;
        }
        case 'W': {
            u64 address = number(), n = number();
            auto d = data(n);
            memcpy((void *)address, d.data(), n);
            break;
        }
        case 'M': {
            u64 address = number(), n = number();
            memset((void *)address, (int)number(), n);
            break;
        }
        case 'R': {
            u64 address = number(), n = number();
            answer((void *)address, n);
            break;
        }
        case 'L': {
            u64 device = number(), kernel = number(), blocks = number(), threads = number(), n = number();
            auto d = data(n);
            launches[device].reset();
            launches[device].reset(new Grid((int)kernel, (u32)blocks, (u32)threads, d.data(), d.size()));
            break;
        }
        case 'S': {
            launches.clear();
            u64 done = 0;
            answer(&done, sizeof done);
            break;
        }
        default: return 2;
        }
    }
}
