// SPDX-License-Identifier: MIT
#include "kernels/matmul/engine.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "kernels/exec/thread_pool.hpp"

namespace retrace::kernels {

namespace {

constexpr std::uint64_t kPackedBytesMax =
    2 << 20;  ///< Both operands: blocks packed ahead, while they stay in the cache.
constexpr std::uint64_t kChunkBytes = 384 << 10;  ///< Packed columns that stay in the second-level cache.
constexpr std::uint64_t kChunkRows = 192;         ///< Rows of C that stay there with them.
constexpr std::uint64_t kThinBytes =
    3 << 19;  ///< All of B packed: below, rows of A are packed by who uses them.
constexpr std::uint64_t kSerialWork = std::uint64_t{1}
                                      << 18;  ///< Multiply-adds below which waking threads costs more.

std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) {
    return (n + unit - 1) / unit * unit;
}

/// Scratch memory that a thread keeps between products: fresh pages cost more than packing into them does.
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

/// One product: sizes, packed operands of the blocks at hand, and the two loops over them.
class Product {
public:
    Product(const MatmulKernel& kernel, const MatrixView& a, const MatrixView& b, float* c,
            std::uint64_t c_stride, ThreadPool& pool)
        : kernel_(kernel),
          a_(a),
          b_(b),
          c_(c),
          c_stride_(c_stride),
          pool_(pool),
          rows_(round_up(a.rows, kernel.lanes) + kTileRowsMax),
          panels_((b.cols + kernel.cols - 1) / kernel.cols),
          blocks_(matmul_blocks(a.cols)),
          plain_(reads_plain_rows() && a.source == nullptr) {}

    void run(Workspace& workspace) {
        if (thin()) return run_thin(workspace);
        const std::uint64_t each = block_bytes();
        at_hand_ = std::min(blocks_, std::max<std::uint64_t>(1, kPackedBytesMax / each));
        place(workspace.at_least(at_hand_ * each));
        for (begin_ = 0; begin_ < blocks_; begin_ += at_hand_) {
            here_ = std::min(at_hand_, blocks_ - begin_);
            pack(true);
            multiply();
        }
    }

private:
    /// Longer rows are packed all the same: a tile's rows, far apart, would fight for the same sets of the cache.
    bool reads_plain_rows() const { return kernel_.plain_rows && a_.col_stride == 1 && blocks_ == 1; }

    // Every part is a multiple of 64 bytes, so that all of them are aligned like the first.
    std::uint64_t a_bytes() const { return plain_ ? 0 : round_up(rows_ * kernel_.row_words() * 4, 64); }
    std::uint64_t b_bytes() const { return panels_ * kernel_.panel_words() * 4; }
    std::uint64_t scale_a_bytes() const { return round_up(rows_ * 4, 64); }
    std::uint64_t scale_b_bytes() const { return round_up(panels_ * kernel_.cols * 4, 64); }
    std::uint64_t start_bytes() const { return round_up(rows_ * kSlicesMax * 4, 64); }
    std::uint64_t block_bytes() const {
        return a_bytes() + b_bytes() + scale_a_bytes() + scale_b_bytes() + start_bytes();
    }

    void place(std::byte* memory) {
        const auto take = [&memory](std::uint64_t bytes) {
            std::byte* const part = memory;
            memory += bytes;
            return part;
        };
        packed_a_ = reinterpret_cast<std::uint32_t*>(take(at_hand_ * a_bytes()));
        packed_b_ = reinterpret_cast<std::uint32_t*>(take(at_hand_ * b_bytes()));
        scale_a_ = reinterpret_cast<float*>(take(at_hand_ * scale_a_bytes()));
        scale_b_ = reinterpret_cast<float*>(take(at_hand_ * scale_b_bytes()));
        start_ = reinterpret_cast<std::int32_t*>(take(at_hand_ * start_bytes()));
    }

    /// Where a row of A is packed to and read from, and the rows behind it.
    struct Rows {
        std::uint32_t* words = nullptr;
        std::uint64_t stride = 0;  ///< In words.
        float* scale = nullptr;    ///< Null for values as they are, like `start`.
        std::int32_t* start = nullptr;

        Rows from(std::uint64_t row) const {
            if (scale == nullptr) return {words + row * stride, stride, nullptr, nullptr};
            return {words + row * stride, stride, scale + row, start + row * kSlicesMax};
        }
    };

    /// In memory that nobody writes to, where its rows are what the kernel reads.
    Rows plain_rows(const float* data, std::uint64_t stride, std::uint64_t block) const {
        float* const begin = const_cast<float*>(data) + (begin_ + block) * kBlockK;
        return {reinterpret_cast<std::uint32_t*>(begin), stride, nullptr, nullptr};
    }
    Rows rows_at(std::uint64_t block, std::uint64_t row) const {
        if (plain_) return plain_rows(a_.data, a_.row_stride, block).from(row);
        const Rows all{packed_a_ + block * (a_bytes() / 4), kernel_.row_words(),
                       scale_a_ + block * (scale_a_bytes() / 4), start_ + block * (start_bytes() / 4)};
        return all.from(row);
    }
    std::uint32_t* panel_of(std::uint64_t block, std::uint64_t panel) const {
        return packed_b_ + block * (b_bytes() / 4) + panel * kernel_.panel_words();
    }
    float* scale_b_of(std::uint64_t block) const { return scale_b_ + block * (scale_b_bytes() / 4); }
    std::uint32_t terms(std::uint64_t block) const {
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(kBlockK, a_.cols - (begin_ + block) * kBlockK));
    }
    std::uint64_t grain(std::uint64_t tasks) const {
        return a_.rows * b_.cols * a_.cols < kSerialWork ? tasks : 1;
    }

    void pack(bool rows_too) {
        const std::uint64_t units_a = rows_too && !plain_ ? round_up(a_.rows, kPackRows) / kPackRows : 0;
        const std::uint64_t units_b = round_up(b_.cols, kPackColumns) / kPackColumns;
        const std::uint64_t units = (units_a + units_b) * here_;
        pool_.parallel_for(units, grain(units), [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) {
                const std::uint64_t block = i / (units_a + units_b), unit = i % (units_a + units_b);
                if (unit < units_a)
                    pack_rows(block, unit * kPackRows, a_.rows, rows_at(block, unit * kPackRows));
                else
                    pack_columns(block, (unit - units_a) * kPackColumns);
            }
        });
    }

    /// At most kPackRows rows from `row` on, none from `end` on.
    void pack_rows(std::uint64_t block, std::uint64_t row, std::uint64_t end, const Rows& to) {
        const std::uint64_t rows = std::min<std::uint64_t>(kPackRows, end - row);
        if (a_.source == nullptr) {
            return pack_rows_of(a_.data + row * a_.row_stride, a_.row_stride, block, rows, to);
        }
        static thread_local Workspace fetched;
        pack_rows_of(fetch(*a_.source, row, rows, a_.cols, fetched), a_.cols, block, rows, to);
    }

    void pack_rows_of(const float* data, std::uint64_t stride, std::uint64_t block, std::uint64_t rows,
                      const Rows& to) {
        PackSource source;
        source.data = data + (begin_ + block) * kBlockK * a_.col_stride;
        source.vector_stride = stride;
        source.k_stride = a_.col_stride;
        source.vectors = static_cast<std::uint32_t>(rows);
        source.n = terms(block);
        kernel_.pack_a(source, to.words, to.scale, to.start);
    }

    static const float* fetch(const RowSource& source, std::uint64_t first, std::uint64_t rows,
                              std::uint64_t cols, Workspace& memory) {
        auto* const out = reinterpret_cast<float*>(memory.at_least(rows * cols * sizeof(float)));
        source.fetch(source.context, first, rows, out);
        return out;
    }

    void pack_columns(std::uint64_t block, std::uint64_t column) {
        PackSource source;
        source.data = b_.data + column * b_.col_stride + (begin_ + block) * kBlockK * b_.row_stride;
        if (b_.source != nullptr) {
            static thread_local Workspace fetched;
            source.data =
                fetch(*b_.source, (begin_ + block) * kBlockK, terms(block), b_.cols, fetched) + column;
        }
        source.vector_stride = b_.col_stride;
        source.k_stride = b_.row_stride;
        source.vectors = static_cast<std::uint32_t>(std::min<std::uint64_t>(kPackColumns, b_.cols - column));
        source.n = terms(block);
        kernel_.pack_b(source, panel_of(block, column / kernel_.cols), scale_b_of(block) + column);
    }

    /// Panels of one task: as many as keep the packed columns in the second-level cache.
    std::uint64_t chunk_panels() const {
        const std::uint64_t cached = std::max<std::uint64_t>(1, kChunkBytes / (kernel_.panel_words() * 4));
        const std::uint64_t chunks = (panels_ + cached - 1) / cached;
        return (panels_ + chunks - 1) / chunks;
    }

    /// Rows of one task: fewer where threads would have too little to do.
    std::uint64_t chunk_rows(std::uint64_t column_chunks) const {
        std::uint64_t chunks = (a_.rows + kChunkRows - 1) / kChunkRows;
        const std::uint64_t wanted = pool_.threads() == 1 ? 1 : std::uint64_t{pool_.threads()} * 4;
        chunks = std::max(chunks, (wanted + column_chunks - 1) / column_chunks);
        return std::max<std::uint64_t>(kernel_.rows, round_up((a_.rows + chunks - 1) / chunks, kernel_.rows));
    }

    void multiply() {
        const std::uint64_t panels = chunk_panels();
        const std::uint64_t column_chunks = (panels_ + panels - 1) / panels;
        const std::uint64_t rows = chunk_rows(column_chunks);
        const std::uint64_t tasks = (a_.rows + rows - 1) / rows * column_chunks;
        pool_.parallel_for(tasks, grain(tasks), [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t task = begin; task < end; ++task) {
                const std::uint64_t row = task / column_chunks * rows, panel = task % column_chunks * panels;
                chunk(row, std::min(rows, a_.rows - row), panel, std::min(panels, panels_ - panel));
            }
        });
    }

    void chunk(std::uint64_t first_row, std::uint64_t rows, std::uint64_t first_panel, std::uint64_t panels) {
        for (std::uint64_t block = 0; block < here_; ++block) {
            tiles(block, rows_at(block, first_row), first_row, rows, first_panel, panels);
        }
    }

    /// Tile after tile along the columns: a tile's rows of A stay in the first-level cache, the panels stream
    /// from the second, and C is walked along its rows.
    void tiles(std::uint64_t block, const Rows& a, std::uint64_t first_row, std::uint64_t rows,
               std::uint64_t first_panel, std::uint64_t panels) {
        // Tiles of nearly equal height are faster than full ones and a small rest.
        const std::uint64_t count = (rows + kernel_.rows - 1) / kernel_.rows;
        if (kernel_.enter != nullptr) kernel_.enter();
        for (std::uint64_t t = 0; t < count; ++t) {
            const std::uint64_t row = rows * t / count, end = rows * (t + 1) / count;
            for (std::uint64_t p = 0; p < panels; ++p) {
                tile(block, a.from(row), first_row + row, end - row, first_panel + p);
            }
        }
        if (kernel_.leave != nullptr) kernel_.leave();
    }

    void tile(std::uint64_t block, const Rows& a, std::uint64_t row, std::uint64_t rows,
              std::uint64_t panel) {
        const std::uint64_t column = panel * kernel_.cols;
        Tile t;
        t.a = a.words;
        t.a_stride = a.stride;
        t.b = panel_of(block, panel);
        t.scale_a = a.scale;
        t.scale_b = scale_b_of(block) + column;
        t.start = a.start;
        t.c = c_ + row * c_stride_ + column;
        t.c_stride = c_stride_;
        t.rows = static_cast<std::uint32_t>(rows);
        t.groups = (terms(block) + kernel_.group - 1) / kernel_.group;
        t.columns = static_cast<std::uint32_t>(std::min<std::uint64_t>(kernel_.cols, b_.cols - column));
        t.narrow = t.columns <= kernel_.lanes;
        t.first = begin_ + block == 0;
        t.last = begin_ + block + 1 == blocks_;
        kernel_.multiply(t);
    }

    /// B is small beside A: it is packed whole, and every thread packs the rows of A that it multiplies,
    /// block after block, so that they never leave its cache.
    bool thin() const {
        return blocks_ * b_bytes() <= kThinBytes && a_.rows >= std::uint64_t{pool_.threads()} * kChunkRows;
    }

    void run_thin(Workspace& workspace) {
        begin_ = 0;
        here_ = at_hand_ = blocks_;
        std::byte* const memory = workspace.at_least(blocks_ * (b_bytes() + scale_b_bytes()));
        packed_b_ = reinterpret_cast<std::uint32_t*>(memory);
        scale_b_ = reinterpret_cast<float*>(memory + blocks_ * b_bytes());
        pack(false);
        const std::uint64_t rows = chunk_rows(1), tasks = (a_.rows + rows - 1) / rows;
        pool_.parallel_for(tasks, grain(tasks), [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t task = begin; task < end; ++task) {
                thin_chunk(task * rows, std::min(rows, a_.rows - task * rows));
            }
        });
    }

    void thin_chunk(std::uint64_t first_row, std::uint64_t rows) {
        static thread_local Workspace workspace;
        const std::uint64_t room = round_up(rows, kernel_.lanes) + kTileRowsMax;
        const std::uint64_t words = round_up(room * kernel_.row_words(), 16), scales = round_up(room, 16);
        auto* const memory = reinterpret_cast<std::uint32_t*>(
            workspace.at_least(plain_ ? 64 : 4 * (words + scales + room * kSlicesMax)));
        const Rows packed{memory, kernel_.row_words(), reinterpret_cast<float*>(memory + words),
                          reinterpret_cast<std::int32_t*>(memory + words + scales)};
        static thread_local Workspace fetched;
        const float* data = a_.data + first_row * a_.row_stride;
        if (a_.source != nullptr) data = fetch(*a_.source, first_row, rows, a_.cols, fetched);
        const bool plain = reads_plain_rows();
        for (std::uint64_t block = 0; block < blocks_; ++block) {
            for (std::uint64_t row = 0; row < rows && !plain; row += kPackRows) {
                pack_rows_of(data + row * a_.row_stride, a_.row_stride, block,
                             std::min<std::uint64_t>(kPackRows, rows - row), packed.from(row));
            }
            tiles(block, plain ? plain_rows(data, a_.row_stride, block) : packed, first_row, rows, 0,
                  panels_);
        }
    }

    const MatmulKernel& kernel_;
    const MatrixView& a_;
    const MatrixView& b_;
    float* const c_;
    const std::uint64_t c_stride_;
    ThreadPool& pool_;
    const std::uint64_t rows_, panels_, blocks_;  ///< rows_: of packed A, where a whole tile may be read.
    const bool plain_;                            ///< A is read where it is.
    std::uint64_t at_hand_ = 0, begin_ = 0, here_ = 0;
    std::uint32_t* packed_a_ = nullptr;
    std::uint32_t* packed_b_ = nullptr;
    float* scale_a_ = nullptr;
    float* scale_b_ = nullptr;
    std::int32_t* start_ = nullptr;
};

}  // namespace

void matmul_tiled(const MatmulKernel& kernel, const MatrixView& a, const MatrixView& b, float* c,
                  std::uint64_t c_stride, ThreadPool& pool) {
    if (a.rows == 0 || b.cols == 0) return;
    if (a.cols == 0) {
        for (std::uint64_t r = 0; r < a.rows; ++r) std::fill_n(c + r * c_stride, b.cols, 0.0f);
        return;
    }
    static thread_local Workspace workspace;
    Product(kernel, a, b, c, c_stride, pool).run(workspace);
}

}  // namespace retrace::kernels
