// SPDX-License-Identifier: MIT
#include "kernels/exec/partial_tile.hpp"

#include <algorithm>
#include <optional>

#include "kernels/matmul/links.hpp"
#include "kernels/ops/matmul_shape.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/ops/window_shape.hpp"
#include "kernels/scalar/float_environment.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kSide = 32;
constexpr std::uint64_t kTokens = 256;    ///< Tokens of one link of a row scatter.
constexpr std::uint64_t kRowsPerRun = 8;  ///< Minimum number of rows that a thread takes.

/// Rows and columns of the output matrix that the tile covers.
struct Part {
    std::uint64_t row = 0, rows = 0, col = 0, cols = 0;
    std::uint64_t width = 0;  ///< Columns of the output.
};

Part part_of(const OpFacts& facts, std::uint64_t tile) {
    const Geometry shape = geometry(facts.output.dims);
    Part part;
    part.row = tile / shape.tile_cols() * kSide;
    part.col = tile % shape.tile_cols() * kSide;
    part.rows = std::min(kSide, shape.rows - part.row);
    part.cols = std::min(kSide, shape.cols - part.col);
    part.width = shape.cols;
    return part;
}

struct Links {
    std::uint64_t first = 0, end = 0;
};

// The carried value of a scatter starts at +0 and is never -0, so a link without a term changes nothing.
void add_sum(std::uint32_t& carried, float sum) { carried = to_bits(canonical_nan(from_bits(carried) + sum)); }

// --- Matrix products.

/// Multiplies the rows [begin, end) of the part, all of which belong to one product of the batch.
void multiply_rows(const OpCall& call, const MatmulShape& s, const Part& part, std::uint64_t begin, std::uint64_t end,
                   Links links, PartialTile& carried) {
    const std::uint64_t batch = (part.row + begin) / s.m, i = (part.row + begin) % s.m;
    MatrixView a{call.in<float>(0) + batch * s.m * s.k, end - begin, s.k, s.k, 1};
    MatrixView b{call.in<float>(1) + batch * s.k * s.n, s.k, part.cols, s.n, 1};
    if (s.transposed_a) a.row_stride = 1, a.col_stride = s.m;
    if (s.transposed_b) b.row_stride = 1, b.col_stride = s.k;
    a.data += i * a.row_stride;
    b.data += part.col * b.col_stride;
    float values[kSide * kSide] = {};
    const auto each = [&](const auto& body) {
        for (std::uint64_t r = begin; r < end; ++r) {
            for (std::uint64_t c = 0; c < part.cols; ++c) body(carried[r * kSide + c], values[(r - begin) * kSide + c]);
        }
    };
    each([](std::uint32_t bits, float& value) { value = from_bits(bits); });
    matmul_links_at(cpu_level(), s.precision, a, b, links.first, links.end, values, kSide);
    each([](std::uint32_t& bits, float value) { bits = to_bits(value); });
}

void multiply(const OpCall& call, const Part& part, Links links, PartialTile& carried) {
    const MatmulShape s = matmul_shape(call.facts);
    call.pool.parallel_for(part.rows, kRowsPerRun, [&](std::uint64_t begin, std::uint64_t end) {
        while (begin < end) {
            const std::uint64_t left = s.m - (part.row + begin) % s.m, stop = std::min(end, begin + left);
            multiply_rows(call, s, part, begin, stop, links, carried);
            begin = stop;
        }
    });
}

// --- Row scatter: tokens one after the other, each read once for the whole tile.

void scatter_rows(const OpCall& call, const Part& part, Links links, PartialTile& carried) {
    const std::uint64_t tokens = call.facts.inputs[0].dims[0];
    const std::int32_t* const index = call.in<std::int32_t>(1);
    for (std::uint64_t link = links.first; link < links.end; ++link) {
        float sum[kSide][kSide];
        std::array<bool, kSide> touched{};
        for (std::uint64_t t = link * kTokens; t < std::min(tokens, (link + 1) * kTokens); ++t) {
            if (index[t] < 0) continue;
            const std::uint64_t row = static_cast<std::uint64_t>(index[t]) - part.row;
            if (row >= part.rows) continue;
            if (!touched[row]) std::fill_n(sum[row], kSide, 0.0f);
            touched[row] = true;
            const float* const value = call.in<float>(0) + t * part.width + part.col;
            for (std::uint64_t c = 0; c < part.cols; ++c) sum[row][c] += value[c];
        }
        for (std::uint64_t r = 0; r < part.rows; ++r) {
            for (std::uint64_t c = 0; touched[r] && c < part.cols; ++c) add_sum(carried[r * kSide + c], sum[r][c]);
        }
    }
}

// --- Window scatter: pixel by pixel, with one term for each window that covers the pixel.

/// Kernel positions along one axis at which a window covers a pixel: from `first` in steps of `stride`, below `end`.
struct Covering {
    std::uint64_t first = 0, end = 0, stride = 1;
    /// Returns the first position that is not less than `bound`.
    std::uint64_t from(std::uint64_t bound) const {
        return bound <= first ? first : first + (bound - first + stride - 1) / stride * stride;
    }
};

/// `at` is the pixel's coordinate in the padded image; `windows` > 0.
Covering covering(std::uint64_t at, std::uint64_t kernel, std::uint64_t stride, std::uint64_t windows) {
    const std::uint64_t last = (windows - 1) * stride;  // Where the last window begins.
    return {at >= last ? at - last : at % stride, std::min(kernel, at + 1), stride};
}

struct Pixel {
    const float* windows = nullptr;  ///< Windows of this image, starting at this channel's columns.
    std::uint64_t x = 0, y = 0;      ///< Coordinates in the padded image.
};

std::uint32_t scatter_pixel(const WindowShape& s, const Pixel& at, Links links, std::uint32_t carried) {
    const Covering rows = covering(at.y, s.kh, s.sh, s.oh), cols = covering(at.x, s.kw, s.sw, s.ow);
    const std::uint64_t begin = links.first * kWindowTerms;
    const std::uint64_t end = std::min(s.kh * s.kw, links.end * kWindowTerms), each = s.c * s.kh * s.kw;
    if (cols.first >= cols.end) return carried;
    float sum = 0.0f;
    std::uint64_t link = links.first;
    for (std::uint64_t ky = rows.from(begin / s.kw); ky < rows.end && ky * s.kw < end; ky += rows.stride) {
        const float* const line = at.windows + (at.y - ky) / s.sh * s.ow * each;
        const std::uint64_t row = ky * s.kw, low = begin > row ? begin - row : 0;
        for (std::uint64_t kx = cols.from(low); kx < cols.end && row + kx < end; kx += cols.stride) {
            const std::uint64_t k = row + kx;
            if (k / kWindowTerms != link) {
                add_sum(carried, sum);
                sum = 0.0f;
                link = k / kWindowTerms;
            }
            sum += line[(at.x - kx) / s.sw * each + k];
        }
    }
    add_sum(carried, sum);
    return carried;
}

void scatter_windows(const OpCall& call, const Part& part, Links links, PartialTile& carried) {
    const WindowShape s = scatter_shape(call.facts);
    const std::uint64_t kernel = s.kh * s.kw, each = s.c * kernel;
    call.pool.parallel_for(part.rows, 1, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            const std::uint64_t plane = (part.row + r) / s.h, image = plane / s.c;
            Pixel at{call.in<float>(0) + image * s.oh * s.ow * each + plane % s.c * kernel, 0,
                     (part.row + r) % s.h + s.ph};
            for (std::uint64_t c = 0; c < part.cols; ++c) {
                at.x = part.col + c + s.pw;
                std::uint32_t& bits = carried[r * kSide + c];
                bits = scatter_pixel(s, at, links, bits);
            }
        }
    });
}

// --- Any other chain: its element rule.

class Inputs final : public ElementSource {
public:
    explicit Inputs(const OpCall& call) : call_(call) {}
    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override {
        const std::uint8_t* const data = call_.inputs[slot];
        return size_of(call_.facts.inputs[slot].dtype) == 1 ? data[element] : load_u32(data + 4 * element);
    }

private:
    const OpCall& call_;
};

void by_rule(const OpCall& call, const Part& part, Links links, PartialTile& carried) {
    const OpRule* const rule = find_rule(call.facts.op.code);
    call.pool.parallel_for(part.rows, 1, [&](std::uint64_t begin, std::uint64_t end) {
        Inputs source(call);
        Reads reads(source);
        for (std::uint64_t r = begin; r < end; ++r) {
            for (std::uint64_t c = 0; c < part.cols; ++c) {
                const std::uint64_t element = (part.row + r) * part.width + part.col + c;
                ElementQuery query{element, links.first, carried[r * kSide + c], call.seed, call.step};
                for (; query.link < links.end; ++query.link) query.before = rule->element(call.facts, query, reads);
                carried[r * kSide + c] = query.before;
            }
        }
    });
}

}  // namespace

void advance_partial(const OpCall& call, std::uint64_t tile, std::uint64_t first, std::uint64_t end,
                     PartialTile& carried) {
    ensure(first <= end && end < link_count(call.facts), "links before the last");
    if (first == 0) carried.fill(0);
    if (first == end) return;
    const FloatEnvironment contract;
    const Part part = part_of(call.facts, tile);
    switch (call.facts.op.code) {
        case OpCode::matmul: return multiply(call, part, {first, end}, carried);
        case OpCode::scatter_add_rows: return scatter_rows(call, part, {first, end}, carried);
        case OpCode::window_scatter: return scatter_windows(call, part, {first, end}, carried);
        default: return by_rule(call, part, {first, end}, carried);
    }
}

}  // namespace retrace::kernels
