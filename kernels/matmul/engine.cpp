// SPDX-License-Identifier: MIT
#include "kernels/matmul/engine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "kernels/runtime/thread_pool.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::kernels {

namespace {

constexpr EngineSizes kSizes;
const EngineSizes* sizes_in_use = &kSizes;  ///< Differs from kSizes only while an OtherSizes exists.

std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }

/// Scratch memory that a thread keeps between products, because touching fresh pages costs more than packing into them.
class Workspace {
public:
    std::byte* at_least(std::uint64_t bytes) {
        if (bytes > size_) {
            memory_.reset();
            memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
            size_ = bytes;
        }
        return memory_.get();
    }

private:
    static constexpr std::align_val_t kAlignment{64};
    struct Free {
        void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::uint64_t size_ = 0;
};

/// Prefetches the cache lines of some rows, a few at a time, while the unit works on the rows before them.
class Ahead {
public:
    Ahead() = default;
    Ahead(const float* data, std::uint64_t stride, std::uint64_t rows, std::uint64_t n)
        : data_(data), stride_(stride), lines_((n + kLine - 1) / kLine), left_(rows * lines_) {}

    std::uint64_t left() const { return left_; }
    void fetch(std::uint64_t count) {
        for (count = std::min(count, left_), left_ -= count; count != 0; --count) {
            __builtin_prefetch(data_ + at_ * kLine, 0, 3);
            if (++at_ == lines_) at_ = 0, data_ += stride_;
        }
    }

private:
    static constexpr std::uint64_t kLine = 64 / sizeof(float);
    const float* data_ = nullptr;
    std::uint64_t stride_ = 0, lines_ = 0, left_ = 0, at_ = 0;
};

/// One product. All threads pack B, a few blocks at a time; then every thread takes rows of C, packs the rows of A tile
/// by tile as it reaches them, and multiplies them with B's panels.
class Product {
public:
    Product(const MatmulKernel& kernel, const MatrixView& a, const MatrixView& b, float* c, std::uint64_t c_stride,
            ThreadPool& pool)
        : kernel_(kernel),
          sizes_(*sizes_in_use),
          tile_rows_(std::min<std::uint64_t>(kernel.rows, sizes_.tile_rows)),
          a_(a),
          b_(b),
          c_(c),
          c_stride_(c_stride),
          pool_(pool),
          panels_((b.cols + kernel.cols - 1) / kernel.cols),
          blocks_(matmul_blocks(a.cols)),
          plain_(kernel.plain_rows && a.col_stride == 1 && (blocks_ == 1 || spread(a.row_stride, sizes_.sets_words))) {}

    void run(Workspace& workspace) {
        const std::uint64_t each = panels_ * (kernel_.panel_words() + kernel_.cols) * 4;
        const std::uint64_t room = std::max<std::uint64_t>(1, sizes_.packed_bytes / each);
        const std::uint64_t batches = (blocks_ + room - 1) / room;
        const std::uint64_t at_hand = (blocks_ + batches - 1) / batches;
        packed_b_ = reinterpret_cast<std::uint32_t*>(workspace.at_least(at_hand * each));
        scale_b_ = reinterpret_cast<float*>(packed_b_ + at_hand * panels_ * kernel_.panel_words());
        for (begin_ = 0; begin_ < blocks_; begin_ += at_hand) {
            here_ = std::min(at_hand, blocks_ - begin_);
            pack_columns();
            multiply();
        }
    }

private:
    /// Whether blocks of rows at this stride lie in different sets of the first-level cache. Rows of a tile that would
    /// conflict in the same sets are packed although they are dense.
    static bool spread(std::uint64_t row_stride, std::uint64_t sets_words) {
        const std::uint64_t apart = row_stride % sets_words;
        return apart >= kBlockK && apart + kBlockK <= sets_words;
    }

    std::uint32_t* panel_of(std::uint64_t block, std::uint64_t panel) const {
        return packed_b_ + (block * panels_ + panel) * kernel_.panel_words();
    }
    float* scale_b_of(std::uint64_t block, std::uint64_t panel) const {
        return scale_b_ + (block * panels_ + panel) * kernel_.cols;
    }
    std::uint32_t terms(std::uint64_t block) const {
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(kBlockK, a_.cols - (begin_ + block) * kBlockK));
    }
    std::uint64_t grain(std::uint64_t tasks) const {
        return a_.rows * b_.cols * a_.cols < sizes_.serial_work ? tasks : 1;
    }

    static const float* fetch(const RowSource& source, std::uint64_t first, std::uint64_t rows, std::uint64_t cols,
                              Workspace& memory) {
        auto* const out = reinterpret_cast<float*>(memory.at_least(rows * cols * sizeof(float)));
        source.fetch(source.context, first, rows, out);
        return out;
    }

    void pack_columns() {
        const std::uint64_t units = round_up(b_.cols, kPackColumns) / kPackColumns, tasks = units * here_;
        pool_.parallel_for(tasks, grain(tasks), [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) pack_columns(i / units, i % units * kPackColumns);
        });
    }

    void pack_columns(std::uint64_t block, std::uint64_t column) {
        PackSource source;
        source.data = b_.data + column * b_.col_stride + (begin_ + block) * kBlockK * b_.row_stride;
        if (b_.source != nullptr) {
            static thread_local Workspace fetched;
            source.data = fetch(*b_.source, (begin_ + block) * kBlockK, terms(block), b_.cols, fetched) + column;
        }
        source.vector_stride = b_.col_stride;
        source.k_stride = b_.row_stride;
        source.vectors = static_cast<std::uint32_t>(std::min<std::uint64_t>(kPackColumns, b_.cols - column));
        source.n = terms(block);
        const std::uint64_t panel = column / kernel_.cols;
        kernel_.pack_b(source, panel_of(block, panel), scale_b_of(block, panel));
    }

    /// Returns the number of panels whose packed columns stay in the second-level cache.
    std::uint64_t chunk_panels(std::uint64_t panels) const {
        const std::uint64_t cached = std::max<std::uint64_t>(1, sizes_.chunk_bytes / (kernel_.panel_words() * 4));
        const std::uint64_t chunks = (panels + cached - 1) / cached;
        return (panels + chunks - 1) / chunks;
    }

    /// Tasks are rows of C; if there are too few for the threads, columns are divided and then rows again.
    void multiply() {
        const std::uint64_t wanted = pool_.threads() == 1 ? 1 : std::uint64_t{pool_.threads()} * 4;
        std::uint64_t row_tasks = (a_.rows + sizes_.chunk_rows - 1) / sizes_.chunk_rows;
        const std::uint64_t chunks = panels_ / chunk_panels(panels_);
        // Rows from a RowSource are computed only once, so the columns of such a product are not divided.
        const std::uint64_t column_tasks =
            a_.source != nullptr ? 1 : std::min(chunks, (wanted + row_tasks - 1) / row_tasks);
        const std::uint64_t panels = (panels_ + column_tasks - 1) / column_tasks;
        row_tasks = std::max(row_tasks, (wanted + column_tasks - 1) / column_tasks);
        const std::uint64_t rows = round_up((a_.rows + row_tasks - 1) / row_tasks, tile_rows_);
        const std::uint64_t across = (panels_ + panels - 1) / panels;
        const std::uint64_t tasks = (a_.rows + rows - 1) / rows * across;
        pool_.parallel_for(tasks, grain(tasks), [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t task = begin; task < end; ++task) {
                const std::uint64_t row = task / across * rows, panel = task % across * panels;
                chunk({row, std::min(rows, a_.rows - row)}, {panel, std::min(panels, panels_ - panel)});
            }
        });
    }

    struct Range {
        std::uint64_t first = 0, count = 0;
    };
    /// The rows of A of one task: their location in memory and the buffers into which they are packed, block after
    /// block.
    struct Rows {
        const float* data = nullptr;
        std::uint64_t stride = 0;
        std::uint32_t* words = nullptr;
        float* scale = nullptr;
        std::int32_t* start = nullptr;
        std::uint64_t packed = 0;  ///< Number of rows packed so far for this block.
    };

    void chunk(Range rows, Range panels) {
        static thread_local Workspace workspace, fetched;
        const std::uint64_t room = round_up(rows.count, kPackRows) + kTileRowsMax;
        const std::uint64_t words = round_up(room * kernel_.row_words(), 16), scales = round_up(room, 16);
        Rows a;
        a.words = reinterpret_cast<std::uint32_t*>(
            workspace.at_least(plain_ ? 64 : 4 * (words + scales + room * kSlicesMax)));
        a.scale = reinterpret_cast<float*>(a.words + words);
        a.start = reinterpret_cast<std::int32_t*>(a.words + words + scales);
        a.data = a_.data + rows.first * a_.row_stride;
        a.stride = a_.row_stride;
        if (a_.source != nullptr) {
            a.data = fetch(*a_.source, rows.first, rows.count, a_.cols, fetched);
            a.stride = a_.cols;
        }
        const std::uint64_t width = chunk_panels(panels.count);
        if (kernel_.enter != nullptr) kernel_.enter();
        for (std::uint64_t block = 0; block < here_; ++block) {
            a.packed = 0;
            for (std::uint64_t p = 0; p < panels.count; p += width) {
                tiles(block, a, rows, {panels.first + p, std::min(width, panels.count - p)});
            }
        }
        if (kernel_.leave != nullptr) kernel_.leave();
    }

    /// Packs those of the first `end` rows that are not packed yet.
    void pack_rows(std::uint64_t block, Rows& a, std::uint64_t end, std::uint64_t count) const {
        // Rows that are adjacent in memory (row stride 1) are packed many at a time.
        const std::uint64_t unit = a_.row_stride == 1 && a_.col_stride != 1 ? kPackRows : kTileRowsMax;
        while (a.packed < end) {
            const std::uint64_t stop = unit == kPackRows ? std::min(a.packed + unit, count) : end;
            PackSource source;
            source.data = a.data + a.packed * a.stride + (begin_ + block) * kBlockK * a_.col_stride;
            source.vector_stride = a.stride;
            source.k_stride = a_.col_stride;
            source.vectors = static_cast<std::uint32_t>(stop - a.packed);
            source.n = terms(block);
            kernel_.pack_a(source, a.words + a.packed * kernel_.row_words(), a.scale + a.packed,
                           a.start + a.packed * kSlicesMax);
            a.packed = stop;
        }
    }

    std::uint32_t groups(std::uint64_t block) const { return (terms(block) + kernel_.group - 1) / kernel_.group; }

    /// Leaves out the groups at both ends in which all of the tile's digits of A are zero, since their products are zero
    /// and sums of integers are exact: causal attention's weights are zero on one side of the diagonal. Returns the
    /// first group that is left. Goes by units of eight groups, so that most tiles take two looks.
    std::uint32_t skip_unused(Tile& t) const {
        constexpr std::uint32_t kUnit = 8;
        const std::uint32_t plane = kBlockK / kernel_.group;  // words of one kind
        const auto is_used = [&](std::uint32_t row, std::uint32_t unit) {
            const std::uint32_t* at = t.a + row * t.a_stride + unit * kUnit;
            std::uint64_t any = 0;
            for (std::uint32_t word = 0; word < kernel_.a_words; ++word, at += plane) {
                std::array<std::uint64_t, kUnit / 2> part;
                std::memcpy(part.data(), at, sizeof part);
                any |= part[0] | part[1] | part[2] | part[3];
            }
            return any != 0;
        };
        const std::uint32_t units = t.groups / kUnit;
        std::uint32_t begin = 0, end = units;
        const auto none_uses = [&](std::uint32_t unit, bool last_first) {
            for (std::uint32_t i = 0; i < t.rows; ++i)
                if (is_used(last_first ? t.rows - 1 - i : i, unit)) return false;
            return true;
        };
        if (t.groups % kUnit == 0)  // Groups that fill no unit count as used.
            while (end > 0 && none_uses(end - 1, true)) --end;
        while (begin < end && none_uses(begin, false)) ++begin;
        begin = begin * kUnit / kernel_.groups_together * kernel_.groups_together;
        t.a += begin;
        t.groups = (end == units ? t.groups : end * kUnit) - begin;
        return begin;
    }

    /// Multiplies tile after tile along the columns: a tile's rows of A stay in the first-level cache, the panels
    /// stream from the second-level cache, and C is traversed along its rows.
    void tiles(std::uint64_t block, Rows& a, Range rows, Range panels) const {
        // Tiles of nearly equal height are faster than full tiles and a small remainder.
        const std::uint64_t count = (rows.count + tile_rows_ - 1) / tile_rows_;
        const auto edge = [&](std::uint64_t tile) { return rows.count * tile / count; };
        const float* const data = a.data + (begin_ + block) * kBlockK * a_.col_stride;
        Tile t;
        t.c_stride = c_stride_;
        t.first = begin_ + block == 0;
        t.last = begin_ + block + 1 == blocks_;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t row = edge(i), end = edge(i + 1);
            t.rows = static_cast<std::uint32_t>(end - row);
            t.groups = groups(block);
            std::uint32_t first = 0;
            t.a = reinterpret_cast<const std::uint32_t*>(data + row * a.stride);
            t.a_stride = a.stride;
            Ahead ahead;
            if (!plain_) {
                if (a.packed < rows.count && a_.col_stride == 1) {
                    if (i + 1 < count)
                        ahead = Ahead(data + end * a.stride, a.stride, edge(i + 2) - end, terms(block));
                    else if (block + 1 < here_)
                        ahead = Ahead(data + kBlockK, a.stride, edge(1), terms(block + 1));
                }
                pack_rows(block, a, end, rows.count);
                t.a = a.words + row * kernel_.row_words();
                t.a_stride = kernel_.row_words();
                t.scale_a = a.scale + row;
                t.start = a.start + row * kSlicesMax;
                if (kernel_.groups_together != 0) first = skip_unused(t);
            }
            t.c = c_ + (rows.first + row) * c_stride_;
            row_of_tiles(block, t, first, panels, ahead);
        }
    }

    /// `t.c` is the beginning of the rows, `first` the first group of the block that the tile reads.
    void row_of_tiles(std::uint64_t block, Tile& t, std::uint32_t first, Range panels, Ahead& ahead) const {
        const std::uint64_t share = (ahead.left() + panels.count - 1) / panels.count;
        float* const c = t.c;
        t.b = panel_of(block, panels.first) + first * kernel_.b_words * kernel_.cols;
        t.scale_b = scale_b_of(block, panels.first);
        for (std::uint64_t panel = panels.first; panel < panels.first + panels.count; ++panel) {
            const std::uint64_t column = panel * kernel_.cols;
            t.c = c + column;
            t.columns = static_cast<std::uint32_t>(std::min<std::uint64_t>(kernel_.cols, b_.cols - column));
            t.narrow = t.columns <= kernel_.lanes;
            ahead.fetch(share);
            kernel_.multiply(t);
            t.b += kernel_.panel_words();
            t.scale_b += kernel_.cols;
        }
    }

    const MatmulKernel& kernel_;
    const EngineSizes& sizes_;
    const std::uint64_t tile_rows_;
    const MatrixView& a_;
    const MatrixView& b_;
    float* const c_;
    const std::uint64_t c_stride_;
    ThreadPool& pool_;
    const std::uint64_t panels_, blocks_;
    const bool plain_;                    ///< A is read in place, without packing.
    std::uint64_t begin_ = 0, here_ = 0;  ///< First block and number of blocks of B that are packed now.
    std::uint32_t* packed_b_ = nullptr;
    float* scale_b_ = nullptr;
};

}  // namespace

OtherSizes::OtherSizes(const EngineSizes& sizes) : sizes_(sizes) {
    ensure(sizes_in_use == &kSizes, "sizes of one test at a time");
    ensure(sizes_.chunk_rows != 0 && sizes_.sets_words != 0 && sizes_.tile_rows != 0, "sizes that are not 0");
    sizes_in_use = &sizes_;
}

OtherSizes::~OtherSizes() { sizes_in_use = &kSizes; }

void matmul_tiled(const MatmulKernel& kernel, const MatrixView& a, const MatrixView& b, float* c,
                  std::uint64_t c_stride, ThreadPool& pool) {
    if (a.rows == 0 || b.cols == 0) return;
    if (a.cols == 0) {
        for (std::uint64_t r = 0; r < a.rows; ++r) std::fill_n(c + r * c_stride, b.cols, 0.0f);
        return;
    }
    static thread_local Workspace workspace;
    // Columns are independent of each other, so B is cut into slabs of columns. A source makes whole rows, which have
    // few columns, and is not cut.
    const std::uint64_t each = 4 * (kernel.panel_words() / kernel.cols + 1);
    const std::uint64_t units = std::max<std::uint64_t>(1, sizes_in_use->slab_bytes / each / kPackColumns);
    const std::uint64_t slab = b.source != nullptr ? b.cols : units * kPackColumns;
    for (std::uint64_t column = 0; column < b.cols; column += slab) {
        MatrixView part = b;
        part.data = b.data + (b.source != nullptr ? 0 : column * b.col_stride);
        part.cols = std::min(slab, b.cols - column);
        Product(kernel, a, part, c + column, c_stride, pool).run(workspace);
    }
}

}  // namespace retrace::kernels
