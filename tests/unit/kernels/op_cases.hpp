// SPDX-License-Identifier: MIT
// A common list of op cases for all tests of ops: static facts with random extents, and inputs of several
// distributions.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/ops/op.hpp"
#include "kernels/runtime/tensor.hpp"

namespace retrace::kernels::testing {

struct OpCase {
    std::string name;
    OpFacts facts;
    std::vector<Tensor> inputs;
};

enum class Data { bell, heavy, special };

/// Serves the complete inputs of a case, which must outlive it.
class TensorSource : public ElementSource {
public:
    explicit TensorSource(const std::vector<Tensor>& inputs) : inputs_(inputs) {}
    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override {
        return inputs_[slot].bits(element);
    }

private:
    const std::vector<Tensor>& inputs_;
};

/// Random inputs for facts whose integer operands are indices below `index_limit` (some out of range).
std::vector<Tensor> random_inputs(const OpFacts& facts, Data data, std::mt19937_64& random);
/// A state of step 0 for `program`.
State random_state(const Program& program, Data data, std::uint64_t seed);

/// `rounds` random cases of every op of the table, each with facts that pass check_facts.
std::vector<OpCase> random_cases(std::uint64_t seed, int rounds);

/// Cases whose geometry makes an element read the maximum number of tiles for its op.
std::vector<OpCase> widest_cases();

}  // namespace retrace::kernels::testing
