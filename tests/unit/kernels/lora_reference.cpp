// SPDX-License-Identifier: MIT
#include "tests/unit/kernels/lora_reference.hpp"

#include <cmath>

namespace retrace::kernels::testing {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

/// Processes one sample at a time; rows are its tokens.
class LoraForward {
public:
    explicit LoraForward(const ReferenceGpt& model) : m_(model) {}

    /// Sum of the cross entropies of one sample's tokens.
    double loss(const std::uint8_t* x, const std::uint8_t* labels) const {
        Rows rows(m_.tokens, Row(m_.width));
        for (std::uint64_t t = 0; t < m_.tokens; ++t) {
            for (std::uint64_t i = 0; i < m_.width; ++i)
                rows[t][i] = at("tokens.weight")[x[t] * m_.width + i] + at("positions.weight")[t * m_.width + i];
        }
        for (std::uint64_t layer = 0; layer < m_.layers; ++layer) block("block" + std::to_string(layer), rows);
        double total = 0;
        for (std::uint64_t t = 0; t < m_.tokens; ++t) {
            const Row logits = times(at("head.weight"), norm("norm", rows[t]), m_.vocabulary);
            double sum = 0;
            for (const double logit : logits) sum += std::exp(logit);
            total += std::log(sum) - logits[labels[t]];
        }
        return total;
    }

private:
    const Row& at(const std::string& name) const { return m_.tensors.at(name); }

    static Row times(const Row& weight, const Row& x, std::uint64_t outputs) {
        Row y(outputs, 0.0);
        const std::uint64_t n = x.size();
        std::uint64_t o = 0;
        for (; o + 4 <= outputs; o += 4) {  // Four sums that do not wait for each other.
            const double* const w = weight.data() + o * n;
            double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            for (std::uint64_t i = 0; i < n; ++i) {
                s0 += w[i] * x[i];
                s1 += w[n + i] * x[i];
                s2 += w[2 * n + i] * x[i];
                s3 += w[3 * n + i] * x[i];
            }
            y[o] = s0, y[o + 1] = s1, y[o + 2] = s2, y[o + 3] = s3;
        }
        for (; o < outputs; ++o) {
            for (std::uint64_t i = 0; i < n; ++i) y[o] += weight[o * n + i] * x[i];
        }
        return y;
    }

    /// W·x + b + alpha / rank · U·(D·x).
    Row linear(const std::string& name, const Row& x, std::uint64_t outputs) const {
        Row y = times(at(name + ".weight"), x, outputs);
        const Row wide = times(at(name + ".lora_up"), times(at(name + ".lora_down"), x, m_.rank), outputs);
        const Row& bias = at(name + ".bias");
        for (std::uint64_t o = 0; o < outputs; ++o) y[o] += bias[o] + m_.alpha / static_cast<double>(m_.rank) * wide[o];
        return y;
    }

    Row norm(const std::string& name, const Row& x) const {
        const auto n = static_cast<double>(x.size());
        double mean = 0, variance = 0;
        for (const double value : x) mean += value / n;
        for (const double value : x) variance += (value - mean) * (value - mean) / n;
        Row y(x.size());
        const Row &weight = at(name + ".weight"), &bias = at(name + ".bias");
        for (std::uint64_t i = 0; i < x.size(); ++i)
            y[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i];
        return y;
    }

    /// Attention output of token `t` over the tokens up to itself.
    Row attention(const Rows& q, const Rows& k, const Rows& v, std::uint64_t t) const {
        const std::uint64_t depth = m_.width / m_.heads;
        Row mixed(m_.width, 0.0);
        for (std::uint64_t head = 0; head < m_.heads; ++head) {
            Row share(t + 1, 0.0);
            double sum = 0;
            for (std::uint64_t s = 0; s <= t; ++s) {
                for (std::uint64_t i = head * depth; i < (head + 1) * depth; ++i) share[s] += q[t][i] * k[s][i];
                share[s] = std::exp(share[s] / std::sqrt(static_cast<double>(depth)));
                sum += share[s];
            }
            for (std::uint64_t s = 0; s <= t; ++s) {
                for (std::uint64_t i = head * depth; i < (head + 1) * depth; ++i) mixed[i] += share[s] / sum * v[s][i];
            }
        }
        return mixed;
    }

    static void add(Row& to, const Row& more) {
        for (std::uint64_t i = 0; i < to.size(); ++i) to[i] += more[i];
    }

    void block(const std::string& name, Rows& rows) const {
        Rows q, k, v;
        for (const Row& row : rows) {
            const Row a = norm(name + ".norm1", row);
            q.push_back(linear(name + ".q", a, m_.width));
            k.push_back(linear(name + ".k", a, m_.width));
            v.push_back(linear(name + ".v", a, m_.width));
        }
        for (std::uint64_t t = 0; t < rows.size(); ++t) {
            add(rows[t], linear(name + ".out", attention(q, k, v, t), m_.width));
            Row inner = linear(name + ".up", norm(name + ".norm2", rows[t]), 4 * m_.width);
            for (double& value : inner) value = 0.5 * value * (1 + std::erf(value / std::sqrt(2.0)));
            add(rows[t], linear(name + ".down", inner, m_.width));
        }
    }

    const ReferenceGpt& m_;
};

}  // namespace

double ReferenceGpt::loss(const std::vector<std::uint8_t>& x, const std::vector<std::uint8_t>& labels) const {
    double total = 0;
    for (std::uint64_t first = 0; first < x.size(); first += tokens)
        total += LoraForward(*this).loss(x.data() + first, labels.data() + first);
    return total / static_cast<double>(x.size());
}

double ReferenceGpt::slope(const std::string& tensor, std::uint64_t element, const std::vector<std::uint8_t>& x,
                           const std::vector<std::uint8_t>& labels) {
    constexpr double kStep = 1e-4;  // its square and 1e-16 divided by it are far below the required accuracy
    double& value = tensors.at(tensor)[element];
    const double middle = value;
    value = middle + kStep;
    const double up = loss(x, labels);
    value = middle - kStep;
    const double down = loss(x, labels);
    value = middle;
    return (up - down) / (2 * kStep);
}

}  // namespace retrace::kernels::testing
