// SPDX-License-Identifier: MIT
// Checks the signature of each ATen call: which arguments are tensors, and how their extents and numbers fit together
// and to the recorded results. A forged recording may hold any call; lowerings see only calls that passed their check.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "solver/import/recording.hpp"

namespace retrace::solver {

/// Constants and ops that the calls of one recording have used so far; a program has limits for both.
struct Expense {
    std::uint64_t constant_bytes = 0;
    std::uint64_t ops = 0;  ///< A lower bound.
};

/// One recorded call while its signature is checked. An argument that is no tensor has no extents, as a number.
class CallShape {
public:
    using Dims = kernels::Dims;

    CallShape(const Recording& recording, const RecordedOp& op, Expense& expense)
        : recording_(recording), op_(op), expense_(expense) {}

    std::size_t count() const { return op_.arguments.size(); }
    Argument::Kind kind(std::size_t i) const { return i < count() ? op_.arguments[i].kind : Argument::Kind::none; }
    bool is_tensor(std::size_t i) const { return kind(i) == Argument::Kind::value; }
    const Dims& dims(std::size_t i) const;
    std::vector<Dims> list(std::size_t i) const;
    bool is_of_one_type(std::size_t list) const;
    std::size_t results() const { return op_.results.size(); }
    const RecordedValue& made(std::size_t i = 0) const { return recording_.values[op_.results[i]]; }
    const Dims& result(std::size_t i = 0) const { return made(i).dims; }

    /// Arguments as the lowerings read them: an argument of another kind counts as absent.
    std::int64_t integer(std::size_t i, std::int64_t otherwise) const;
    std::vector<std::int64_t> integers(std::size_t i) const;
    double number(std::size_t i, double otherwise) const;
    std::vector<double> numbers(std::size_t i) const;
    bool flag(std::size_t i) const { return kind(i) == Argument::Kind::boolean && integer(i, 0) != 0; }
    bool says(std::size_t i, std::string_view text) const {
        return kind(i) == Argument::Kind::text && op_.arguments[i].text == text;
    }
    /// Counted from the end where negative; nothing where there is no such axis.
    std::optional<std::size_t> axis(std::size_t i, std::int64_t otherwise, std::size_t rank) const;

    /// A tensor of the program on the way that has these extents.
    Status<> passes(const std::vector<std::uint64_t>& extents) const;
    /// Counts constants of four bytes that the lowering writes, and ops. Errors: more than a program may have.
    Status<> writes(const std::vector<std::uint64_t>& extents);
    Status<> takes(const std::vector<std::uint64_t>& ops);

    /// The arguments of `tensors` are tensors ('T'), tensors or none ('t'), lists of them ('L') or anything ('.');
    /// there are `results` results at least, and everything has elements.
    Status<> check(std::string_view tensors, std::size_t results) const;

private:
    const Recording& recording_;
    const RecordedOp& op_;
    Expense& expense_;
};

/// Checks the arguments of a call, their extents and numbers. The Error says what does not fit.
using SignatureCheck = Status<> (*)(CallShape& call);

/// The checks that the table of ops (op_table.hpp) refers to, by the file that holds them.
namespace signature {

// signatures_index.cpp
Status<> chosen(CallShape& call);
Status<> copied(CallShape& call);
Status<> copied_in_a_row(CallShape& call);
Status<> filled(CallShape& call);
Status<> filled_with_argument_1(CallShape& call);
Status<> filled_with_argument_2(CallShape& call);
Status<> flipped(CallShape& call);
Status<> padded_around(CallShape& call);
Status<> padded_by_reflection(CallShape& call);
Status<> padded_with_constant(CallShape& call);
Status<> padded_with_edge(CallShape& call);
Status<> rolled(CallShape& call);
Status<> shuffled(CallShape& call);
Status<> unshuffled(CallShape& call);

// signatures_layers.cpp
Status<> added_product(CallShape& call);
Status<> attention(CallShape& call);
Status<> batch_norm(CallShape& call);
Status<> dropout(CallShape& call);
Status<> embedding(CallShape& call);
Status<> group_norm(CallShape& call);
Status<> gru(CallShape& call);
Status<> gru_cell(CallShape& call);
Status<> layer_norm(CallShape& call);
Status<> linear(CallShape& call);
Status<> lstm(CallShape& call);
Status<> lstm_cell(CallShape& call);
Status<> matmul(CallShape& call);
Status<> rnn(CallShape& call);
Status<> rnn_cell(CallShape& call);

// signatures_shape.cpp
Status<> broadcasting_2(CallShape& call);
Status<> broadcasting_3(CallShape& call);
Status<> expansion(CallShape& call);
Status<> extreme(CallShape& call);
Status<> glu(CallShape& call);
Status<> joined(CallShape& call);
Status<> one_of_axis(CallShape& call);
Status<> over_axes(CallShape& call);
Status<> part_of_axis(CallShape& call);
Status<> permutation(CallShape& call);
Status<> pieces(CallShape& call);
Status<> place_of_extreme(CallShape& call);
Status<> prelu(CallShape& call);
Status<> stacked(CallShape& call);
Status<> triangle(CallShape& call);
Status<> unbound(CallShape& call);
Status<> where(CallShape& call);

// signatures_window.cpp
Status<> adaptive_average_pooling(CallShape& call);
Status<> adaptive_max_pooling(CallShape& call);
Status<> any_convolution(CallShape& call);
Status<> average_pooling_1d(CallShape& call);
Status<> average_pooling_2d(CallShape& call);
Status<> max_pooling_1d(CallShape& call);
Status<> max_pooling_2d(CallShape& call);
Status<> plain_convolution(CallShape& call);
Status<> resized_linearly(CallShape& call);
Status<> resized_to_nearest(CallShape& call);

}  // namespace signature

/// `why` where it does not hold.
Status<> unless(bool holds, const char* why);
inline constexpr const char* kMisfit = "extents that do not fit together";
inline constexpr const char* kOutOfRange = "a number that is out of range";

std::uint64_t product(const kernels::Dims& dims);
/// Saturating.
std::uint64_t product_of(const std::vector<std::uint64_t>& factors);

}  // namespace retrace::solver
