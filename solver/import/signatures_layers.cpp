// SPDX-License-Identifier: MIT
// Signatures of products, norms, embedding, dropout, attention and recurrent layers.
#include <algorithm>

#include "kernels/builder/tensor_ops.hpp"
#include "solver/import/signatures.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using Kind = Argument::Kind;

bool is_none_or(const CallShape& call, std::size_t i, const Dims& dims) {
    return !call.is_tensor(i) || call.dims(i) == dims;
}

// ---- products

Status<> linear(CallShape& call) {
    const Dims &x = call.dims(0), &weight = call.dims(1);
    if (x.empty() || weight.size() != 2 || x.back() != weight[1] || !is_none_or(call, 2, {weight[0]}))
        return error(kMisfit);
    Dims wanted = x;
    wanted.back() = weight[0];
    return unless(wanted == call.result(), kMisfit);
}

/// Extents of [..., m, k] times [..., k, n] with broadcast leading axes; nothing if they do not match, or if a tensor
/// on the way is too large.
std::optional<Dims> multiplied(const CallShape& call, const Dims& a, const Dims& b) {
    if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) return std::nullopt;
    std::optional<Dims> out = kernels::broadcast_shape({Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2)});
    if (!out) return std::nullopt;
    const std::uint64_t count = product_of(*out), m = a[a.size() - 2], k = a.back(), n = b.back();
    if (!call.passes({count, m, k}) || !call.passes({count, k, n}) || !call.passes({count, m, n})) return std::nullopt;
    out->push_back(m);
    out->push_back(n);
    return out;
}

/// A vector on the left is a row, on the right a column.
Status<> matmul(CallShape& call) {
    Dims a = call.dims(0), b = call.dims(1);
    if (a.empty() || b.empty()) return Unit{};  // The lowering refuses it.
    if (a.size() == 1) a.insert(a.begin(), 1);
    if (b.size() == 1) b.push_back(1);
    const std::optional<Dims> made = multiplied(call, a, b);
    return unless(made && product(*made) == product(call.result()), kMisfit);
}

/// (self, a, b, beta, alpha).
Status<> added_product(CallShape& call) {
    const std::optional<Dims> made = multiplied(call, call.dims(1), call.dims(2));
    if (!made || *made != call.result()) return error(kMisfit);
    return unless(kernels::broadcast_shape({call.dims(0), *made}) == *made, kMisfit);
}

// ---- norms

/// (input, weight, bias, running_mean, running_var, …), all of the channels.
Status<> batch_norm(CallShape& call) {
    const Dims& x = call.dims(0);
    if (x.size() < 2 || x.size() > 4) return Unit{};  // The lowering refuses it.
    bool fits = x == call.result();
    for (const std::size_t i : {1, 2, 3, 4}) fits = fits && is_none_or(call, i, {x[1]});
    return unless(fits, kMisfit);
}

/// (input, normalized_shape, weight, bias, …).
Status<> layer_norm(CallShape& call) {
    const std::vector<std::int64_t> shape = call.integers(1);
    const Dims& x = call.dims(0);
    if (shape.empty() || shape.size() > x.size()) return error(kMisfit);
    const Dims tail(x.end() - static_cast<std::ptrdiff_t>(shape.size()), x.end());
    const auto alike = [](std::uint64_t a, std::int64_t b) { return b > 0 && a == static_cast<std::uint64_t>(b); };
    const bool same = std::equal(tail.begin(), tail.end(), shape.begin(), alike);
    return unless(same && x == call.result() && is_none_or(call, 2, tail) && is_none_or(call, 3, tail), kMisfit);
}

/// (input, groups, weight, bias, …).
Status<> group_norm(CallShape& call) {
    const Dims& x = call.dims(0);
    const std::int64_t groups = call.integer(1, 1);
    if (x.size() < 2 || groups < 1 || x[1] % static_cast<std::uint64_t>(groups) != 0) return error(kMisfit);
    return unless(x == call.result() && is_none_or(call, 2, {x[1]}) && is_none_or(call, 3, {x[1]}), kMisfit);
}

// ---- tokens and attention

/// (weight, indices, …).
Status<> embedding(CallShape& call) {
    const Dims& table = call.dims(0);
    if (table.size() != 2) return error(kMisfit);
    Dims wanted = call.dims(1);
    wanted.push_back(table[1]);
    return unless(wanted == call.result(), kMisfit);
}

/// The probability is argument `at`.
template <std::size_t at>
Status<> dropout(CallShape& call) {
    const double rate = call.number(at, 0.5);
    return unless(rate >= 0 && rate <= 1, kOutOfRange);
}

/// (query, key, value, mask, …).
Status<> attention(CallShape& call) {
    const Dims &q = call.dims(0), &v = call.dims(2), &mask = call.dims(3);
    Dims turned = call.dims(1);
    if (q.size() < 3) return Unit{};  // The lowering refuses it.
    if (turned.size() != q.size() || v.size() != q.size()) return error(kMisfit);
    std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
    const std::optional<Dims> scores = multiplied(call, q, turned);
    if (!scores || kernels::broadcast_shape({*scores, mask}) != *scores) return error(kMisfit);
    return unless(multiplied(call, *scores, v) == call.result(), kMisfit);
}

// ---- recurrent layers

/// (gates · width, of the input) and (gates · width, width), biases of the gates.
bool are_weights(const std::vector<Dims>& w, std::size_t at, std::size_t each, std::uint64_t gates, std::uint64_t in,
                 std::uint64_t width) {
    const std::uint64_t rows = gates * width;
    bool fits = w[at] == Dims{rows, in} && w[at + 1] == Dims{rows, width};
    for (std::size_t i = 2; i < each; ++i) fits = fits && w[at + i] == Dims{rows};
    return fits;
}

/// (x, state or [state, cell], weights, has_biases, layers, dropout, training, bidirectional, batch_first).
template <std::uint64_t gates, bool has_cell>
Status<> recurrent(CallShape& call) {
    if (call.kind(2) != Kind::values || call.kind(1) != (has_cell ? Kind::values : Kind::value)) return Unit{};
    Dims x = call.dims(0);
    if (x.size() != 3) return Unit{};  // The lowering refuses it.
    if (call.flag(8)) std::swap(x[0], x[1]);
    const std::vector<Dims> states = call.list(1), weights = call.list(2);
    const std::uint64_t ways = call.flag(7) ? 2 : 1, each = call.flag(3) ? 4 : 2;
    const std::int64_t layers = call.integer(4, 1);
    if (layers < 1 || layers > static_cast<std::int64_t>(weights.size())) return error(kOutOfRange);
    const std::uint64_t nets = static_cast<std::uint64_t>(layers) * ways;
    // As are sequences that are too long, and projections.
    if (weights.size() != nets * each || states.size() != (has_cell ? 2u : 1u) || x[0] > 512) return Unit{};
    if (states[0].size() != 3 || call.results() != (has_cell ? 3u : 2u)) return error(kMisfit);
    const std::uint64_t width = states[0][2];
    const Dims state{nets, x[1], width};
    bool fits = std::all_of(states.begin(), states.end(), [&](const Dims& dims) { return dims == state; });
    for (std::size_t i = 1; i < call.results(); ++i) fits = fits && call.result(i) == state;
    for (std::uint64_t net = 0; net < nets; ++net)
        fits = fits && are_weights(weights, net * each, each, gates, net < ways ? x[2] : ways * width, width);
    Dims y{x[0], x[1], ways * width};
    if (call.flag(8)) std::swap(y[0], y[1]);
    if (!fits || y != call.result()) return error(kMisfit);
    RETRACE_CHECK(dropout<5>(call));
    RETRACE_CHECK(call.passes({x[0], x[1], gates, width}));
    constexpr std::uint64_t kOpsOfAStep = 4;
    return call.takes({x[0], nets, kOpsOfAStep});
}

/// One step: (x, state or [state, cell], weight of input, of state, bias of input, of state).
template <std::uint64_t gates, bool has_cell>
Status<> one_step(CallShape& call) {
    const std::vector<Dims> states = call.list(1);
    const Dims& x = call.dims(0);
    if (states.size() != (has_cell ? 2u : 1u) || states[0].size() != 2) return Unit{};  // The lowering refuses it.
    const Dims& state = states[0];
    if (x.size() != 2 || x[0] != state[0] || states.back() != state) return error(kMisfit);
    const std::uint64_t rows = gates * state[1];
    bool fits = are_weights({call.dims(2), call.dims(3)}, 0, 2, gates, x[1], state[1]);
    fits = fits && is_none_or(call, 4, {rows}) && is_none_or(call, 5, {rows});
    for (std::size_t i = 0; i < call.results(); ++i) fits = fits && call.result(i) == state;
    return unless(fits, kMisfit);
}

}  // namespace

namespace signature {

Status<> added_product(CallShape& call) { return solver::added_product(call); }
Status<> attention(CallShape& call) { return solver::attention(call); }
Status<> batch_norm(CallShape& call) { return solver::batch_norm(call); }
Status<> dropout(CallShape& call) { return solver::dropout<1>(call); }
Status<> embedding(CallShape& call) { return solver::embedding(call); }
Status<> group_norm(CallShape& call) { return solver::group_norm(call); }
Status<> gru(CallShape& call) { return solver::recurrent<3, false>(call); }
Status<> gru_cell(CallShape& call) { return solver::one_step<3, false>(call); }
Status<> layer_norm(CallShape& call) { return solver::layer_norm(call); }
Status<> linear(CallShape& call) { return solver::linear(call); }
Status<> lstm(CallShape& call) { return solver::recurrent<4, true>(call); }
Status<> lstm_cell(CallShape& call) { return solver::one_step<4, true>(call); }
Status<> matmul(CallShape& call) { return solver::matmul(call); }
Status<> rnn(CallShape& call) { return solver::recurrent<1, false>(call); }
Status<> rnn_cell(CallShape& call) { return solver::one_step<1, false>(call); }

}  // namespace signature

}  // namespace retrace::solver
