// SPDX-License-Identifier: MIT
#include "tests/cuda/device/cublas.hpp"

#include <dlfcn.h>

namespace retrace::bench {
namespace {

// The parts of cublas_v2.h used here: a handle, statuses (0 is success), and these functions.
using Handle = void*;
using Create = int (*)(Handle*);
using SetStream = int (*)(Handle, kernels::cuda::Stream);
using SetMathMode = int (*)(Handle, int);
using Sgemm = int (*)(Handle, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
                      float*, int);
constexpr int kDefaultMath = 0, kNotTransposed = 0;

template <class Function>
Function symbol(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

CublasPeer load_cublas(kernels::cuda::Stream stream) {
    void* library = nullptr;
    std::string found;
    for (const char* name :
         {"libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"}) {
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        found = name;
        if (library != nullptr) break;
    }
    if (library == nullptr) return {nullptr, "no cuBLAS on this machine"};
    const auto create = symbol<Create>(library, "cublasCreate_v2");
    const auto set_stream = symbol<SetStream>(library, "cublasSetStream_v2");
    const auto set_mode = symbol<SetMathMode>(library, "cublasSetMathMode");
    const auto sgemm = symbol<Sgemm>(library, "cublasSgemm_v2");
    Handle handle = nullptr;
    if (!create || !set_stream || !set_mode || !sgemm || create(&handle) != 0 || set_stream(handle, stream) != 0 ||
        set_mode(handle, kDefaultMath) != 0) {
        return {nullptr, "cuBLAS does not start"};
    }
    // Column-major, so it computes the transposed product of swapped operands.
    const auto run = [=](std::uint64_t m, std::uint64_t n, std::uint64_t k, const float* a, const float* b, float* c) {
        const float one = 1.0f, zero = 0.0f;
        sgemm(handle, kNotTransposed, kNotTransposed, static_cast<int>(n), static_cast<int>(m), static_cast<int>(k),
              &one, b, static_cast<int>(n), a, static_cast<int>(k), &zero, c, static_cast<int>(n));
    };
    return {run, "cuBLAS SGEMM"};
}

}  // namespace retrace::bench
