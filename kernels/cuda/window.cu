// SPDX-License-Identifier: MIT
// Windows of images: im2col and pooling, and their adjoint, a thread for every element of the result.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels::cuda {
namespace {

/// A window shape with 32-bit numbers if all of them and the tensors are small enough.
template <class Index>
struct Shape {
    Index n, c, h, w, kh, kw, sh, sw, ph, pw, oh, ow;
};

template <class Index>
Shape<Index> shape_as(const Windows& s) {
    const auto to = [](std::uint64_t x) { return static_cast<Index>(x); };
    return Shape<Index>{to(s.n),  to(s.c),  to(s.h),  to(s.w),  to(s.kh), to(s.kw),
                        to(s.sh), to(s.sw), to(s.ph), to(s.pw), to(s.oh), to(s.ow)};
}

template <class T, class Index>
__global__ void gather_kernel(Shape<Index> s, const T* images, T* out, std::uint64_t elements, T fill) {
    const std::uint64_t element = global_thread();
    if (element >= elements) return;
    const Index width = s.c * s.kh * s.kw, at = static_cast<Index>(element);
    const Index row = at / width, col = at % width;
    const Index y = row / s.ow % s.oh * s.sh + col / s.kw % s.kh;  // in the padded image
    const Index x = row % s.ow * s.sw + col % s.kw;
    if (y < s.ph || y - s.ph >= s.h || x < s.pw || x - s.pw >= s.w) {
        out[element] = fill;
        return;
    }
    const Index image = row / s.ow / s.oh, channel = col / s.kw / s.kh;
    out[element] = images[((image * s.c + channel) * s.h + (y - s.ph)) * s.w + (x - s.pw)];
}

constexpr std::uint32_t kTerms = 16;  ///< Kernel positions of one link.

/// Whether a window covers pixel `at` at kernel position `k`; if so, sets `window` to it.
template <class Index>
__device__ bool window_over(Index at, Index k, Index stride, Index windows, Index& window) {
    if (at < k || (at - k) % stride != 0) return false;
    window = (at - k) / stride;
    return window < windows;
}

template <class Index>
__global__ void scatter_kernel(Shape<Index> s, const float* windows, float* images, std::uint64_t elements) {
    const std::uint64_t element = global_thread();
    if (element >= elements) return;
    const Index at = static_cast<Index>(element), window = s.kh * s.kw, width = s.c * window;
    const Index x = at % s.w + s.pw, y = at / s.w % s.h + s.ph;
    const Index channel = at / s.w / s.h % s.c, image = at / s.w / s.h / s.c;
    float carried = 0.0f;
    for (Index begin = 0; begin < window; begin += kTerms) {
        float sum = 0.0f;
        const Index end = smaller<Index>(window, begin + kTerms);
        for (Index k = begin; k < end; ++k) {
            Index oy = 0, ox = 0;
            if (!window_over(y, k / s.kw, s.sh, s.oh, oy) || !window_over(x, k % s.kw, s.sw, s.ow, ox)) continue;
            const Index row = (image * s.oh + oy) * s.ow + ox;
            sum += windows[row * width + channel * window + k];
        }
        carried = canonical_nan(carried + sum);
    }
    images[element] = finish(carried);
}

/// Whether all element numbers of both tensors fit 32 bits, padded coordinates included.
bool is_small(const Windows& s) {
    const std::uint64_t most = 0x7fffffff;
    return s.n * s.oh * s.ow * s.c * s.kh * s.kw <= most && s.n * s.c * s.h * s.w <= most;
}

template <class T>
void gather_as(Stream stream, const Windows& s, const T* images, T* out, T fill) {
    const std::uint64_t elements = s.n * s.oh * s.ow * s.c * s.kh * s.kw;
    if (is_small(s)) {
        launch(stream, grid_for(elements), gather_kernel<T, std::uint32_t>, shape_as<std::uint32_t>(s), images, out,
               elements, fill);
    } else {
        launch(stream, grid_for(elements), gather_kernel<T, std::uint64_t>, shape_as<std::uint64_t>(s), images, out,
               elements, fill);
    }
}

}  // namespace

void gather_windows(Stream stream, std::uint32_t size, const Windows& shape, const std::uint8_t* images,
                    std::uint8_t* out, std::uint32_t fill) {
    if (size == 1) return gather_as(stream, shape, images, out, static_cast<std::uint8_t>(fill & 0xff));
    gather_as(stream, shape, reinterpret_cast<const std::uint32_t*>(images), reinterpret_cast<std::uint32_t*>(out),
              fill);
}

void scatter_windows(Stream stream, const Windows& s, const float* windows, float* images) {
    const std::uint64_t elements = s.n * s.c * s.h * s.w;
    if (is_small(s)) {
        launch(stream, grid_for(elements), scatter_kernel<std::uint32_t>, shape_as<std::uint32_t>(s), windows, images,
               elements);
    } else {
        launch(stream, grid_for(elements), scatter_kernel<std::uint64_t>, shape_as<std::uint64_t>(s), windows, images,
               elements);
    }
}

}  // namespace retrace::kernels::cuda
