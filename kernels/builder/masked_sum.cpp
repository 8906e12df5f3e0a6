// SPDX-License-Identifier: MIT
#include "kernels/builder/masked_sum.hpp"

#include <cmath>

#include "kernels/builder/compose.hpp"
#include "kernels/builder/mask_programs.hpp"
#include "kernels/builder/tensor_ops.hpp"
#include "kernels/plan/group_plan.hpp"
#include "kernels/plan/mask_table.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kTileRows = 32;
/// Values reach from -16 to 16 times the root mean square that the usual norm gives.
constexpr float kRange = 16.0f;

Value copied(Graph& g, Value x) { return g.op(OpCode::reshape, {x}, {}, g.shape(x)); }

void clear(Graph& g, Value state) { g.set_next(state, g.op(OpCode::fill, {}, {0}, g.shape(state))); }

}  // namespace

ModelRows masked_rows(std::uint64_t parameters, std::uint32_t kept) {
    const std::uint64_t width = 512 / kept, per_tile = width * kTileRows;
    return {(parameters + per_tile - 1) / per_tile * kTileRows, width};
}

MaskedStates MaskedSum::declare_shared(Graph& g) const {
    MaskedStates s;
    s.turn = g.state("rounds.turn", DType::i32, {});
    return s;
}

void MaskedSum::declare_own(Graph& g, MaskedStates& s) const {
    s.sum = g.state(kMaskedTotalName, DType::i32, words());
    s.sent = g.state("rounds.sent", DType::f32, {shape_.rows, 1});
    s.sent_turn = g.state("rounds.sent_turn", DType::i32, {});
}

void MaskedSum::gain(Graph& g, const MaskedStates& s, Value message) const {
    g.set_next(s.sum, add_wrap(g, s.sum, message));
}

Value MaskedSum::masked(Graph& g, Value value, bool adds) const {
    const Value table = g.dataset("masks", DType::i32, kMaskTableDims),
                facts = g.dataset("facts", DType::i32, kFactDims);
    const Value index = reshape(g, slice(g, facts, {0, 0}, {1, 1}), {1});
    const Value row = g.op(OpCode::gather_rows, {table, index});
    const Value key = reshape(g, slice(g, row, {0, 0}, {1, 8}), {8});
    const Value flag = reshape(g, slice(g, row, {0, 8}, {1, 1}), {});
    const Value was_added = g.op(OpCode::equal, {flag, g.scalar_i32(1)});
    const Value stream = chacha_bits(g, key, 0, words());
    const Value more = add_wrap(g, value, stream), less = sub_wrap(g, value, stream);
    return adds ? select(g, was_added, more, less) : select(g, was_added, less, more);
}

void MaskedSum::unmask(Graph& g, const MaskedStates& s) const { g.set_next(s.sum, masked(g, s.sum, false)); }

void MaskedSum::mask(Graph& g, const MaskedStates& s) const {
    const auto keep = static_cast<std::int32_t>(0xffffffffu >> (32 - sum_bits()));
    const Value sent = masked(g, s.message, true);
    g.set_next(s.message, and_bits(g, sent, g.scalar_i32(keep)));
}

Value MaskedSum::unit(Graph& g, Value norm) const {
    const double steps = std::ldexp(1.0, static_cast<int>(bits_) - 1);
    const double factor = kRange / (steps * std::sqrt(static_cast<double>(shape_.rows)));
    return scale(g, norm, static_cast<float>(factor));
}

Value MaskedSum::places(Graph& g, Value turn) const { return spread(g, turn, {shape_.rows, 1}); }

Value MaskedSum::added(Graph& g, Value base, Value turn, Value values) const {
    return row_add_at(g, base, places(g, turn), values);
}

Value MaskedSum::mean(Graph& g, const MaskedStates& s, Value norm, Value found) const {
    // The sum has sum_bits bits, in two's complement.
    const Value keep = g.scalar_i32(static_cast<std::int32_t>(0xffffffffu >> (32 - sum_bits())));
    const Value half = g.scalar_i32(static_cast<std::int32_t>(1u << (sum_bits() - 1)));
    const Value low = and_bits(g, add_wrap(g, s.sum, half), keep);
    const Value whole = convert(g, sub_wrap(g, low, half), DType::f32);
    const Value share = div(g, unit(g, norm), found);
    return mul(g, reshape(g, whole, {shape_.rows, 1}), share);
}

void MaskedSum::end_turn(Graph& g, const MaskedStates& s) const {
    const Value next = add_wrap(g, s.turn, g.scalar_i32(1));
    g.set_next(s.turn, and_bits(g, next, g.scalar_i32(static_cast<std::int32_t>(shape_.width - 1))));
    clear(g, s.message);
}

Value MaskedSum::press(Graph& g, const MaskedStates& s, Value changes, Value norm) const {
    const Value one = unit(g, norm);
    const Value picked = row_pick(g, changes, places(g, s.turn));
    const float most = std::ldexp(1.0f, static_cast<int>(bits_) - 1) - 1.0f;
    const Value lifted = g.op(OpCode::max, {div(g, picked, one), g.scalar(-most)});
    const Value steps = convert(g, g.op(OpCode::min, {lifted, g.scalar(most)}), DType::i32);
    const Value sent = mul(g, convert(g, steps, DType::f32), one);
    g.set_next(s.message, g.op(OpCode::reshape, {steps}, {}, {DType::i32, words()}));
    g.set_next(s.sent, sent);
    g.set_next(s.sent_turn, copied(g, s.turn));
    return added(g, changes, s.turn, neg(g, sent));
}

}  // namespace retrace::kernels
