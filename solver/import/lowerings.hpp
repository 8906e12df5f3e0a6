// SPDX-License-Identifier: MIT
// Lowers ATen ops to primitive ops. A lowering reads its arguments from a `Call` and returns its results, or refuses
// the call and names what to use instead. It sees only calls whose signature was checked (signatures.hpp).
#pragma once

#include <map>
#include <string_view>

#include "kernels/builder/tape.hpp"
#include "kernels/matmul/matmul.hpp"
#include "solver/import/recording.hpp"

namespace retrace::solver {

/// One recorded op while it is mapped.
class Call {
public:
    using Values = std::vector<kernels::Value>;
    using Lookup = std::map<std::uint32_t, kernels::Value>;

    /// `used`: for each value whether an op reads it or it is the output.
    Call(kernels::Tape& tape, const Recording& recording, const RecordedOp& op, const Lookup& values,
         const std::vector<bool>& used, kernels::Precision precision, bool is_head)
        : tape_(tape),
          recording_(recording),
          op_(op),
          values_(values),
          precision_(precision),
          is_head_(is_head),
          used_(used) {}

    kernels::Tape& tape() { return tape_; }
    kernels::Graph& graph() { return tape_.graph(); }
    const RecordedOp& op() const { return op_; }
    kernels::Precision precision() const { return precision_; }
    bool is_head() const { return is_head_; }  ///< The product that makes the logits.

    std::size_t count() const { return op_.arguments.size(); }
    Argument::Kind kind(std::size_t i) const;
    /// An argument that is not there, or of another kind, is a refusal; a value in its place comes back.
    kernels::Value tensor(std::size_t i);
    std::optional<kernels::Value> maybe(std::size_t i);
    Values tensors(std::size_t i);
    /// A tensor, or a number as a scalar of the program.
    kernels::Value operand(std::size_t i);
    std::int64_t integer(std::size_t i, std::int64_t otherwise);
    std::vector<std::int64_t> integers(std::size_t i) const;
    double number(std::size_t i, double otherwise);
    std::vector<double> numbers(std::size_t i) const;
    bool flag(std::size_t i) const;
    std::string text(std::size_t i) const;
    /// Counted from the end where negative.
    std::size_t axis(std::size_t i, std::int64_t otherwise, std::size_t rank);
    std::uint32_t value_number(std::size_t i) const;  ///< In the recording.
    bool is_used(std::size_t result) const;           ///< By an op, or as the model's output.

    const kernels::Dims& dims(kernels::Value value) { return graph().dims(value); }
    kernels::DType dtype(kernels::Value value) { return graph().shape(value).dtype; }
    const kernels::Dims& result_dims(std::size_t i = 0) const { return recording_.values[op_.results.at(i)].dims; }
    kernels::DType result_dtype() const { return recording_.values[op_.results.at(0)].dtype; }

    /// Notes why, and gives values of the recorded shapes so that the rest can be looked at too.
    Values refuse(std::string why);
    const std::string& refusal() const { return refusal_; }

    /// A value in the place of a result that nobody uses.
    kernels::Value nothing(std::size_t result) { return stand_in(result_dims(result), dtype_of(result)); }

    /// Running statistics: the next value of buffer argument `i`.
    void update(std::size_t i, kernels::Value next) { updates_.emplace_back(value_number(i), next); }
    const std::vector<std::pair<std::uint32_t, kernels::Value>>& updates() const { return updates_; }

private:
    kernels::DType dtype_of(std::size_t result) const { return recording_.values[op_.results.at(result)].dtype; }
    kernels::Value stand_in(const kernels::Dims& dims, kernels::DType dtype);
    kernels::Value missing(std::size_t i, const char* what);

    kernels::Tape& tape_;
    const Recording& recording_;
    const RecordedOp& op_;
    const Lookup& values_;
    const kernels::Precision precision_;
    const bool is_head_;
    std::string refusal_;
    std::vector<std::pair<std::uint32_t, kernels::Value>> updates_;
    const std::vector<bool>& used_;
};

/// Writes the primitive ops of a call and returns its results, or refuses it (Call::refuse).
using Lowering = Call::Values (*)(Call& call);

}  // namespace retrace::solver
