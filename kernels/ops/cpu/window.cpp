// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/cpu/loops.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/ops/window_shape.hpp"

namespace retrace::kernels {
namespace {

/// One row of the window matrix, value by value: the c·kh·kw elements of window (image, oy, ox).
template <class T>
void gather_window(const WindowShape& s, const T* image, std::uint64_t oy, std::uint64_t ox, T fill, T* out) {
    for (std::uint64_t c = 0; c < s.c; ++c, image += s.h * s.w) {
        for (std::uint64_t ky = 0; ky < s.kh; ++ky) {
            const std::uint64_t y = oy * s.sh + ky;
            for (std::uint64_t kx = 0; kx < s.kw; ++kx) {
                const std::uint64_t x = ox * s.sw + kx;
                const bool inside = y >= s.ph && y - s.ph < s.h && x >= s.pw && x - s.pw < s.w;
                *out++ = inside ? image[(y - s.ph) * s.w + (x - s.pw)] : fill;
            }
        }
    }
}

/// Whether windows neither overlap nor are padded: then a pixel is in at most one window.
bool is_partition(const WindowShape& s) { return s.sh == s.kh && s.sw == s.kw && s.ph == 0 && s.pw == 0; }

/// Copies `count` pieces of kw values that are `step` apart to places `width` apart. It is not inlined, because the
/// surrounding code needs so many registers that the loop counter would be in memory. `Width` is kw if that is a
/// constant, so that a copy is a few moves; 0 otherwise.
template <class T, std::uint64_t Width>
[[gnu::noinline]] void copy_pieces(const T* from, std::uint64_t step, T* to, std::uint64_t width, std::uint64_t count,
                                   std::uint64_t kw) {
    for (; count != 0; --count, from += step, to += width) std::memcpy(to, from, (Width != 0 ? Width : kw) * sizeof(T));
}

constexpr std::uint64_t kPaddedLine = 512;

/// Gathers `count` windows of one row of windows, from (oy, ox) on, line by line; they span at most kPaddedLine
/// columns. If they extend over a side of the image, the line is first copied with its padding.
template <class T, std::uint64_t Width>
void gather_run(const WindowShape& s, const T* image, std::uint64_t oy, std::uint64_t ox, std::uint64_t count, T fill,
                T* out) {
    const std::uint64_t kw = Width != 0 ? Width : s.kw, width = s.c * s.kh * kw;
    // Columns are counted from the left edge of the padding; those from `low` to `high` of the span are in the image.
    const std::uint64_t first = ox * s.sw, span = (count - 1) * s.sw + kw;
    const std::uint64_t low = std::min(span, s.pw - std::min(s.pw, first));
    const std::uint64_t high = std::clamp(s.pw + s.w - std::min(s.pw + s.w, first), low, span);
    const std::uint64_t start = low < high ? first + low - s.pw : 0;
    std::array<T, kPaddedLine> padded;
    for (std::uint64_t c = 0; c < s.c; ++c, image += s.h * s.w) {
        for (std::uint64_t ky = 0; ky < s.kh; ++ky, out += kw) {
            const std::uint64_t y = oy * s.sh + ky;
            if (y < s.ph || y - s.ph >= s.h) {
                for (std::uint64_t i = 0; i < count; ++i) std::fill_n(out + i * width, kw, fill);
                continue;
            }
            const T* from = image + (y - s.ph) * s.w + start;
            if (high - low != span) {
                std::fill_n(padded.data(), low, fill);
                std::copy_n(from, high - low, padded.data() + low);
                std::fill_n(padded.data() + high, span - high, fill);
                from = padded.data();
            }
            copy_pieces<T, Width>(from, s.sw, out, width, count, kw);
        }
    }
}

template <class T, std::uint64_t Width>
void gather_rows_as(const WindowShape& s, const T* images, std::uint64_t first, std::uint64_t count, T fill, T* out) {
    const std::uint64_t width = s.c * s.kh * s.kw, end = first + count;
    const std::uint64_t most = s.kw > kPaddedLine ? 0 : (kPaddedLine - s.kw) / s.sw + 1;
    std::uint64_t ox = first % s.ow, oy = first / s.ow % s.oh;
    const T* image = images + first / s.ow / s.oh * s.c * s.h * s.w;
    for (std::uint64_t row = first; row < end;) {
        const std::uint64_t here = std::min({std::max<std::uint64_t>(1, most), s.ow - ox, end - row});
        if (most != 0)
            gather_run<T, Width>(s, image, oy, ox, here, fill, out);
        else
            gather_window(s, image, oy, ox, fill, out);
        row += here;
        out += here * width;
        ox += here;
        if (ox < s.ow) continue;
        ox = 0;
        if (++oy < s.oh) continue;
        oy = 0;
        image += s.c * s.h * s.w;
    }
}

template <class T>
void gather_rows(const WindowShape& s, const T* images, std::uint64_t first, std::uint64_t count, T fill, T* out) {
    switch (s.kw) {
        case 2: return gather_rows_as<T, 2>(s, images, first, count, fill, out);
        case 3: return gather_rows_as<T, 3>(s, images, first, count, fill, out);
        case 5: return gather_rows_as<T, 5>(s, images, first, count, fill, out);
        default: return gather_rows_as<T, 0>(s, images, first, count, fill, out);
    }
}

template <class T>
void gather(const OpCall& call) {
    const WindowShape s = gather_shape(call.facts);
    const T fill = static_cast<T>(call.facts.op.attributes[6]);
    const std::uint64_t width = s.c * s.kh * s.kw;
    call.pool.parallel_for(s.n * s.oh * s.ow, 1 + 8192 / (width + 1), [&](std::uint64_t begin, std::uint64_t end) {
        gather_rows(s, call.in<T>(0), begin, end - begin, fill, call.out<T>() + begin * width);
    });
}

template <std::uint64_t Width>
void copy_partition(const WindowShape& s, const float* windows, std::uint64_t width, float* plane) {
    const std::uint64_t kw = Width != 0 ? Width : s.kw;
    if (s.oh * s.kh != s.h || s.ow * kw != s.w) std::fill_n(plane, s.h * s.w, 0.0f);
    for (std::uint64_t oy = 0; oy < s.oh; ++oy) {
        for (std::uint64_t ky = 0; ky < s.kh; ++ky) {
            float* line = plane + (oy * s.kh + ky) * s.w;
            const float* row = windows + oy * s.ow * width + ky * kw;
            for (std::uint64_t ox = 0; ox < s.ow; ++ox, row += width, line += kw) {
                for (std::uint64_t kx = 0; kx < kw; ++kx) line[kx] = finish(0.0f + row[kx]);
            }
        }
    }
}

/// Transposes four windows' elements at four positions: rows `from` apart become four rows `to` apart.
void turn_four(const float* in, std::uint64_t from, float* out, std::uint64_t to) {
    using Four = float __attribute__((vector_size(16)));
    Four row[4];
    for (std::uint64_t i = 0; i < 4; ++i) std::memcpy(&row[i], in + i * from, sizeof(Four));
    const Four low_a = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
    const Four low_b = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
    const Four high_a = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
    const Four high_b = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    const Four turned[4] = {
        __builtin_shufflevector(low_a, low_b, 0, 1, 4, 5), __builtin_shufflevector(low_a, low_b, 2, 3, 6, 7),
        __builtin_shufflevector(high_a, high_b, 0, 1, 4, 5), __builtin_shufflevector(high_a, high_b, 2, 3, 6, 7)};
    for (std::uint64_t i = 0; i < 4; ++i) std::memcpy(out + i * to, &turned[i], sizeof(Four));
}

/// Sorts the elements of one channel by kernel position: turned[k][window].
void turn_windows(const WindowShape& s, const float* windows, std::uint64_t width, float* turned) {
    const std::uint64_t count = s.oh * s.ow, window = s.kh * s.kw;
    const std::uint64_t fours = count / 4 * 4, positions = window / 4 * 4;
    for (std::uint64_t p = 0; p < fours; p += 4) {
        for (std::uint64_t k = 0; k < positions; k += 4) {
            turn_four(windows + p * width + k, width, turned + k * count + p, count);
        }
    }
    for (std::uint64_t p = 0; p < count; ++p) {
        for (std::uint64_t k = p < fours ? positions : 0; k < window; ++k) {
            turned[k * count + p] = windows[p * width + k];
        }
    }
}

/// Adds the windows' elements at kernel position k to one channel's plane of sums. The caller goes through the
/// positions in ascending order, and a position adds at most one term to a pixel, so every pixel's terms come in the
/// normative order.
void scatter_position(const WindowShape& s, std::uint64_t k, const float* elements, float* plane) {
    const std::uint64_t ky = k / s.kw, kx = k % s.kw;
    // The pixels of windows begin..end are inside the image: 0 <= ox·sw + kx - pw < w.
    const std::uint64_t begin = kx >= s.pw ? 0 : (s.pw - kx + s.sw - 1) / s.sw;
    const std::uint64_t end = s.w + s.pw > kx ? std::min(s.ow, (s.w + s.pw - kx - 1) / s.sw + 1) : 0;
    for (std::uint64_t oy = 0; oy < s.oh; ++oy) {
        const std::uint64_t y = oy * s.sh + ky;
        if (y < s.ph || y - s.ph >= s.h || begin >= end) continue;
        float* line = plane + (y - s.ph) * s.w + (begin * s.sw + kx - s.pw);
        const float* row = elements + oy * s.ow + begin;
        if (s.sw == 1) {
            for (std::uint64_t i = 0; i < end - begin; ++i) line[i] += row[i];
        } else {
            for (std::uint64_t i = 0; i < end - begin; ++i) line[i * s.sw] += row[i];
        }
    }
}

/// Computes all links of one channel's plane.
void scatter_plane(const WindowShape& s, const float* turned, float* link, float* out) {
    const std::uint64_t window = s.kh * s.kw, pixels = s.h * s.w, count = s.oh * s.ow;
    std::fill_n(out, pixels, 0.0f);
    for (std::uint64_t first = 0; first < window; first += kWindowTerms) {
        float* sums = first == 0 ? out : link;
        std::fill_n(sums, pixels, 0.0f);
        for (std::uint64_t k = first; k < std::min(window, first + kWindowTerms); ++k) {
            scatter_position(s, k, turned + k * count, sums);
        }
        if (sums != out) loops().accumulate(out, sums, pixels);
    }
    loops().finish(out, pixels);
}

}  // namespace

void gather_windows(const OpFacts& gather, const float* image, std::uint64_t first, std::uint64_t count, float* out) {
    gather_rows(gather_shape(gather), image, first, count,
                from_bits(static_cast<std::uint32_t>(gather.op.attributes[6])), out);
}

void run_window_gather(const OpCall& call) {
    size_of(call.facts.output.dtype) == 1 ? gather<std::uint8_t>(call) : gather<std::uint32_t>(call);
}

void run_window_scatter(const OpCall& call) {
    const WindowShape s = scatter_shape(call.facts);
    const std::uint64_t window = s.kh * s.kw, width = s.c * window, pixels = s.h * s.w;
    const bool partition = is_partition(s);
    const std::uint64_t grain = 1 + 8192 / (pixels + 1);
    call.pool.parallel_for(s.n * s.c, grain, [&](std::uint64_t begin, std::uint64_t end) {
        std::vector<float> link(partition || window <= kWindowTerms ? 0 : pixels);
        std::vector<float> turned(partition ? 0 : s.oh * s.ow * window);
        for (std::uint64_t plane = begin; plane < end; ++plane) {
            float* out = call.out<float>() + plane * pixels;
            const float* windows = call.in<float>(0) + plane / s.c * s.oh * s.ow * width + plane % s.c * window;
            if (partition) {
                s.kw == 2 ? copy_partition<2>(s, windows, width, out) : copy_partition<0>(s, windows, width, out);
            } else {
                turn_windows(s, windows, width, turned.data());
                scatter_plane(s, turned.data(), link.data(), out);
            }
        }
    });
}

}  // namespace retrace::kernels
