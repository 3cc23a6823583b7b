// A libnvrtc for tests: it compiles nothing, and gives what the fake libcuda
// takes for machine code, where it was asked as the real one must be.
//
//	COLLTUNE_EXECUTOR_FAKE_NVRTC   name=value, by commas: sm (the one architecture it knows), error (1: the
//	                               source is not taken, 2: no machine code comes out)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <string>

struct Program {
    std::string text, log, code;
    std::map<std::string, std::string> headers;
};

static long held;

static long setting(const char *name, long otherwise) {
    const char *all = getenv("COLLTUNE_EXECUTOR_FAKE_NVRTC"), *at = all ? strstr(all, name) : nullptr;
    return at ? atol(at + strlen(name) + 1) : otherwise;
}

#define API extern "C" __attribute__((visibility("default")))
enum { OK = 0, INVALID_INPUT = 3, INVALID_PROGRAM = 4, COMPILATION = 6 };

API long fakeHeld() { return held; }

API const char *nvrtcGetErrorString(int r) { return r == COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INVALID_INPUT"; }
API int nvrtcVersion(int *major, int *minor) { *major = 12; *minor = 4; return OK; }
API int nvrtcGetNumSupportedArchs(int *n) { *n = 1; return OK; }
API int nvrtcGetSupportedArchs(int *all) { *all = (int)setting("sm", 90); return OK; }
API int nvrtcCreateProgram(Program **p, const char *text, const char *, int n, const char *const *headers, const char *const *names) {
    *p = new Program{text, "", "", {}};
    for (int i = 0; i < n; i++) (*p)->headers[names[i]] = headers[i];
    held++;
    return OK;
}
API int nvrtcDestroyProgram(Program **p) {
    delete *p;
    *p = nullptr;
    held--;
    return OK;
}
API int nvrtcCompileProgram(Program *p, int n, const char *const *options) {
    std::string all;
    for (int i = 0; i < n; i++) all += std::string(options[i]) + "\n";
    char architecture[64];
    snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%ld\n", setting("sm", 90));
    if (all.find(architecture) == std::string::npos || all.find("-DELEMENT=Element") == std::string::npos || all.find("--std=c++17") == std::string::npos) {
        p->log = "options: " + all;
        return INVALID_INPUT;
    }
    if (p->text.find("interpret_LL128") == std::string::npos || p->headers["move.h"].find("movePlain") == std::string::npos || p->headers["device/platform.h"].empty()) {
        p->log = "the source is not whole";
        return COMPILATION;
    }
    if (setting("error", 0) == 1) {
        p->log = "move.h(17): error: what is this?";
        return COMPILATION;
    }
    if (setting("error", 0) != 2) p->code = std::string("\177ELF of the test\0", 17);
    return OK;
}
API int nvrtcGetProgramLogSize(Program *p, size_t *n) { *n = p->log.size() + 1; return OK; }
API int nvrtcGetProgramLog(Program *p, char *to) { strcpy(to, p->log.c_str()); return OK; }
API int nvrtcGetCUBINSize(Program *p, size_t *n) { *n = p->code.size(); return OK; }
API int nvrtcGetCUBIN(Program *p, char *to) { memcpy(to, p->code.data(), p->code.size()); return OK; }
