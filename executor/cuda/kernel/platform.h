// The little that the kernels ask of the machine: who am I, barriers, loads
// and stores with an order, a clock. One file for a GPU, one for the host.
#pragma once

#include "layout.h"

#if defined(__CUDA__) || defined(__CUDACC_RTC__)
#include "device/platform.h"
#else
#include "host/platform.h"
#endif
