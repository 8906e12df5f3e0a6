// SPDX-License-Identifier: MIT
#include "solver/capability/program.hpp"

#include "kernels/matmul/matmul.hpp"
#include "kernels/ops/element.hpp"
#include "kernels/ops/opcode.hpp"
#include "merkle/base/codec.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::solver {
namespace {

using kernels::Precision;

/// Keeps the sign and the mantissa of `bits` and maps it to ±[1, 2). Zero becomes ±1, so values do not vanish.
std::uint32_t wrap(std::uint32_t bits) { return (bits & 0x807fffffu) | 0x3f800000u; }

/// Returns a multiple of 2^-23 in [-1, 1); every operation is exact.
float weight_of(std::uint32_t word) { return kernels::uniform_of(word) * 2.0f - 1.0f; }

/// The matrix product as the referee evaluates it. Rows of both operands are contiguous.
kernels::OpFacts product_facts() {
    kernels::OpFacts facts;
    facts.op.code = kernels::OpCode::matmul;
    facts.op.inputs = {0, 1};
    facts.op.attributes = {static_cast<std::uint64_t>(Precision::i8x2), 0, 1};  // The second operand is transposed.
    const kernels::OpFacts::Operand square{kernels::DType::f32, {kCapabilityExtent, kCapabilityExtent}};
    facts.inputs = {square, square};
    facts.output = square;
    return facts;
}

/// One row of each operand, which is all that the element rule reads for one element.
class TwoRows final : public kernels::ElementSource {
public:
    TwoRows(std::uint32_t row, const CapabilityRow& weights, std::uint32_t column, const CapabilityRow& input)
        : first_{std::uint64_t{row} * kCapabilityExtent, std::uint64_t{column} * kCapabilityExtent},
          rows_{&weights, &input} {}
    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override {
        if (slot > 1 || element < first_[slot] || element - first_[slot] >= kCapabilityExtent) return std::nullopt;
        return kernels::to_bits((*rows_[slot])[element - first_[slot]]);
    }

private:
    std::uint64_t first_[2];
    const CapabilityRow* rows_[2];
};

template <class Value>
void fill(kernels::PhiloxKey key, std::uint64_t first, std::uint64_t count, float* out, Value value) {
    for (std::uint64_t i = 0; i < count; i += 4) {
        const kernels::PhiloxBlock block = kernels::philox_block(key, (first + i) / 4, 0);
        for (std::uint64_t j = 0; j < 4; ++j) out[i + j] = value(block.word[j]);
    }
}

float first_value(std::uint32_t word) { return kernels::from_bits(wrap(word)); }

}  // namespace

std::uint64_t capability_seed(const Hash32& beacon, std::uint64_t challenge) {
    const Hash32 digest = merkle::Sha256()
                              .update(view(std::string_view("retrace/capability-seed/1")))
                              .update(view(beacon))
                              .update_u64(challenge)
                              .finish();
    return load_u64(digest.data());
}

std::vector<CapabilityDraw> capability_draws(const Hash32& beacon, std::uint64_t challenge, std::uint64_t rounds,
                                             std::uint32_t count) {
    ensure(rounds != 0 && rounds <= kCapabilityRoundsMax && count <= kCapabilityDrawsMax,
           "the number of rounds was checked when they were claimed");
    std::vector<CapabilityDraw> out;
    for (std::uint32_t d = 0; d < count; ++d) {
        const Hash32 digest = merkle::Sha256()
                                  .update(view(std::string_view("retrace/capability-draw/1")))
                                  .update(view(beacon))
                                  .update_u64(challenge)
                                  .update_u32(d)
                                  .finish();
        // At most 2^24 rounds: the remainder is biased by less than 2^-40.
        out.push_back({load_u64(digest.data()) % rounds, digest.bytes[8], digest.bytes[9]});
    }
    return out;
}

CapabilityRules::CapabilityRules(std::uint64_t seed)
    : first_(kernels::stream_key(seed, "capability/first")),
      weights_(kernels::stream_key(seed, "capability/weights")),
      windows_(kernels::stream_key(seed, "capability/windows")) {}

CapabilityRow CapabilityRules::first_row(std::uint32_t row) const {
    CapabilityRow out;
    fill(first_, row * kCapabilityExtent, kCapabilityExtent, out.data(), first_value);
    return out;
}

std::uint64_t CapabilityRules::window(std::uint64_t round) const {
    return kernels::philox_word(windows_, round, 0) % (kPoolRows - kCapabilityExtent + 1);
}

CapabilityRow CapabilityRules::pool_row(std::uint64_t row) const {
    CapabilityRow out;
    fill(weights_, row * kCapabilityExtent, kCapabilityExtent, out.data(), weight_of);
    return out;
}

CapabilityRow CapabilityRules::weights(std::uint64_t round, std::uint32_t row) const {
    return pool_row(window(round) + row);
}

std::uint32_t CapabilityRules::element(std::uint64_t round, std::uint32_t row, const CapabilityRow& input) const {
    static const kernels::OpFacts facts = product_facts();
    const CapabilityRow weights = this->weights(round, row);
    // The column determines only which row of the operand is the input, so column 0 is used.
    TwoRows rows(row, weights, 0, input);
    kernels::ElementQuery query;
    query.element = std::uint64_t{row} * kCapabilityExtent;
    const auto bits = kernels::evaluate(facts, query, rows);
    ensure(bits.has_value(), "an element of the product needs these two rows alone");
    return wrap(*bits);
}

CapabilityMachine::CapabilityMachine(std::uint64_t seed, kernels::ThreadPool& pool)
    : rules_(seed), pool_(pool), weights_(CapabilityRules::kPoolRows * kCapabilityExtent) {
    for (std::uint64_t row = 0; row < CapabilityRules::kPoolRows; ++row) {
        const CapabilityRow values = rules_.pool_row(row);
        std::copy(values.begin(), values.end(),
                  weights_.begin() + static_cast<std::ptrdiff_t>(row * kCapabilityExtent));
    }
}

std::vector<float> CapabilityMachine::first() const {
    std::vector<float> out;
    out.reserve(kCapabilityElements);
    for (std::uint32_t row = 0; row < kCapabilityExtent; ++row) {
        const CapabilityRow values = rules_.first_row(row);
        out.insert(out.end(), values.begin(), values.end());
    }
    return out;
}

void CapabilityMachine::step(std::uint64_t round, const std::vector<float>& state, std::vector<float>& next) const {
    ensure(state.size() == kCapabilityElements, "a state is 256 by 256");
    next.resize(kCapabilityElements);
    kernels::MatrixView a{weights_.data() + rules_.window(round) * kCapabilityExtent,
                          kCapabilityExtent,
                          kCapabilityExtent,
                          kCapabilityExtent,
                          1,
                          nullptr};
    kernels::MatrixView b{state.data(), kCapabilityExtent, kCapabilityExtent, 1, kCapabilityExtent, nullptr};
    kernels::matmul(Precision::i8x2, a, b, next.data(), kCapabilityExtent, pool_);
    for (float& value : next) value = kernels::from_bits(wrap(kernels::to_bits(value)));
}

}  // namespace retrace::solver
