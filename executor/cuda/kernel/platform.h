// What the kernels need of a platform: indices of threads and blocks, barriers,
// ordered loads and stores, a clock. One file for GPUs, one for the host.
#pragma once

#include "layout.h"

#if defined(__CUDA__) || defined(__CUDACC_RTC__)
#include "device/platform.h"
#else
#include "host/platform.h"
#endif
