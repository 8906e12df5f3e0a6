// SPDX-License-Identifier: MIT
// The form of each ATen call: which arguments are tensors, how their extents and numbers fit together and to the
// recorded results. PyTorch records nothing else; whoever forges a recording may. Rules build on calls in form alone.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "solver/import/recording.hpp"

namespace retrace::solver {

/// What the calls of one recording have made so far of what a program has little of.
struct Expense {
    std::uint64_t constant_bytes = 0;
    std::uint64_t ops = 0;  ///< A lower bound.
};

/// One recorded call while its form is looked at. Extents of what is no tensor are those of a number: none.
class Form {
public:
    using Dims = kernels::Dims;

    Form(const Recording& recording, const RecordedOp& op, Expense& expense)
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

    /// As the rules read them: what is of another kind is as good as none.
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
    /// Constants of four bytes that the rule writes, and ops.
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

/// Whether a call of an op that has a rule is in form. The error says what is not.
Status<> check_form(const Recording& recording, const RecordedOp& op, Expense& expense);

using FormCheck = Status<> (*)(Form& form);
struct FormRule {
    std::string_view tensors;
    std::size_t results = 1;
    FormCheck check = nullptr;  ///< None where the arguments fit whatever their extents are.
};
struct NamedForm {
    std::string_view name;
    FormRule rule;
};
std::vector<NamedForm> elementwise_forms();
std::vector<NamedForm> shape_forms();
std::vector<NamedForm> index_forms();
std::vector<NamedForm> window_forms();
std::vector<NamedForm> layer_forms();
std::vector<NamedForm> recurrent_forms();

/// `why` where it does not hold.
Status<> unless(bool holds, const char* why);
inline constexpr const char* kMisfit = "extents that do not fit together";
inline constexpr const char* kOutOfRange = "a number that is out of range";

std::uint64_t product(const kernels::Dims& dims);
/// Saturating.
std::uint64_t product_of(const std::vector<std::uint64_t>& factors);

}  // namespace retrace::solver
