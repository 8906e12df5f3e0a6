// SPDX-License-Identifier: MIT
#include "kernels/builder/message_form.hpp"

#include <algorithm>

#include "kernels/builder/compose.hpp"
#include "kernels/builder/tensor_ops.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kGroup = 256;   // sent values with common levels
constexpr std::uint64_t kRowMax = 512;  // what row_top takes

class SparseForm final : public MessageForm {
public:
    SparseForm(const ModelRows& shape, std::uint32_t kept, std::uint32_t bits)
        : rows_(shape.rows), kept_(kept), bits_(bits) {}

    /// In 32 columns, so that few tiles are mostly empty.
    std::vector<MessagePart> parts() const override {
        const Dims wide{rows_ * kept_ / 32, 32};
        return {{"rounds.places", DType::i32, wide},
                {"rounds.codes", DType::i32, wide},
                {"rounds.levels", DType::f32, {bits_, groups()}}};
    }
    Value added(Graph& g, Value base, const std::vector<Value>& message) const override {
        const Value change = values(g, message);
        return row_add_at(g, base, by_row(g, message[0]), change);
    }
    Value taken(Graph& g, Value base, const std::vector<Value>& message) const override {
        const Value change = neg(g, values(g, message));
        return row_add_at(g, base, by_row(g, message[0]), change);
    }
    std::vector<Value> message_of(Graph& g, Value changes) const override {
        const Value places = row_top(g, changes, kept_);
        const Value sent = reshape(g, row_pick(g, changes, places), {groups(), kGroup});
        const Value sizes = g.op(OpCode::abs, {sent});
        const Value mean = row_mean(g, sizes);
        const Value negative = convert(g, g.op(OpCode::less, {sent, g.scalar(0.0f)}), DType::i32);
        const Dims wide{rows_ * kept_ / 32, 32};
        if (bits_ == 1) return {reshape(g, places, wide), reshape(g, negative, wide), reshape(g, mean, {1, groups()})};
        const Value high = g.op(OpCode::greater_equal, {sizes, mean});
        const Value levels =
            g.op(OpCode::concat, {mean_where(g, sizes, high, false), mean_where(g, sizes, high, true)}, {0});
        const Value zero = g.scalar_i32(0), two = g.scalar_i32(2);
        const Value codes = add_wrap(g, negative, select(g, high, two, zero));
        return {reshape(g, places, wide), reshape(g, codes, wide), levels};
    }

private:
    std::uint64_t groups() const { return rows_ * kept_ / kGroup; }
    Value by_row(Graph& g, Value x) const { return reshape(g, x, {rows_, kept_}); }

    /// What a message says at its places, [rows, kept]: each level with its sign. Bits of a code above those that have a
    /// meaning are ignored.
    Value values(Graph& g, const std::vector<Value>& message) const {
        const auto bit = [&](std::int32_t mask) {
            const Value masked = and_bits(g, message[1], g.scalar_i32(mask));
            return reshape(g, g.op(OpCode::equal, {masked, g.scalar_i32(mask)}), {groups(), kGroup});
        };
        const auto level = [&](std::uint64_t i) {
            const Value line = slice(g, message[2], {i, 0}, {1, groups()});
            return broadcast(g, reshape(g, line, {groups(), 1}), {groups(), kGroup});
        };
        Value size = level(0);
        if (bits_ != 1) {
            const Value upper = level(1);
            size = select(g, bit(2), upper, size);
        }
        const Value minus = neg(g, size);
        return by_row(g, select(g, bit(1), minus, size));
    }

    /// The mean of the sizes of a group that are high, or are not, [1, groups]; 0 if there are none.
    Value mean_where(Graph& g, Value sizes, Value high, bool wanted) const {
        const Value zero = g.scalar(0.0f), one = g.scalar(1.0f);
        const auto chosen = [&](Value x) {
            const Value all = broadcast(g, x, {groups(), kGroup});
            return sum_rows(g, wanted ? select(g, high, all, zero) : select(g, high, zero, all));
        };
        const Value count = g.op(OpCode::max, {chosen(one), one});
        return reshape(g, div(g, chosen(sizes), count), {1, groups()});
    }

    std::uint64_t rows_;
    std::uint32_t kept_, bits_;
};

class DenseForm final : public MessageForm {
public:
    explicit DenseForm(const ModelRows& shape) : shape_(shape) {}
    std::vector<MessagePart> parts() const override {
        return {{"rounds.changes", DType::f32, {shape_.rows, shape_.width}}};
    }
    Value added(Graph& g, Value base, const std::vector<Value>& message) const override {
        return add(g, base, message[0]);
    }
    Value taken(Graph& g, Value base, const std::vector<Value>& message) const override {
        return sub(g, base, message[0]);
    }
    std::vector<Value> message_of(Graph&, Value changes) const override { return {changes}; }

private:
    ModelRows shape_;
};

}  // namespace

std::unique_ptr<MessageForm> sparse_form(const ModelRows& shape, std::uint32_t kept, std::uint32_t bits) {
    return std::make_unique<SparseForm>(shape, kept, bits);
}

ModelRows sparse_rows(std::uint64_t parameters, std::uint32_t kept) {
    const std::uint64_t whole = kGroup / kept, per_group = whole * kRowMax;
    const std::uint64_t rows = (parameters + per_group - 1) / per_group * whole;
    // A row has at least as many places as are kept.
    return {rows, std::max<std::uint64_t>(kept, (parameters + rows - 1) / rows)};
}

std::unique_ptr<MessageForm> dense_form(const ModelRows& shape) { return std::make_unique<DenseForm>(shape); }

ModelRows dense_rows(std::uint64_t parameters) { return {(parameters + kRowMax - 1) / kRowMax, kRowMax}; }

}  // namespace retrace::kernels
