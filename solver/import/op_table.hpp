// SPDX-License-Identifier: MIT
// The ATen ops that can be imported: one entry for each, in the file of its family (lowerings_*.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "solver/import/lowerings.hpp"
#include "solver/import/signatures.hpp"

namespace retrace::solver {

/// Types that the tensors of a call may hold.
enum class TensorTypes : std::uint8_t {
    f32,  ///< Float32 alone; a call with whole numbers or truth values is refused (kIntegers).
    any,  ///< Whole numbers and truth values too: the lowering handles them, or checks the types itself.
};

struct ImportedOp {
    std::string_view name;  ///< As PyTorch records it, "aten::conv2d".
    TensorTypes types;
    std::string_view arguments;  ///< CallShape::check: which arguments are tensors.
    std::size_t results;         ///< Least number of results.
    SignatureCheck check;        ///< nullptr: the arguments fit whatever their extents are.
    Lowering lower;
};

std::vector<ImportedOp> activation_ops();   ///< Functions of one number.
std::vector<ImportedOp> arithmetic_ops();   ///< Elementwise, comparisons, softmax.
std::vector<ImportedOp> convolution_ops();  ///< Convolutions, pooling.
std::vector<ImportedOp> index_ops();        ///< Copies and choices along axes.
std::vector<ImportedOp> layer_ops();        ///< Products, norms, embedding, dropout, attention.
std::vector<ImportedOp> recurrent_ops();    ///< Recurrent layers, step by step.
std::vector<ImportedOp> reduction_ops();    ///< Sums, spreads, extremes over axes.
std::vector<ImportedOp> resize_ops();       ///< Resizing of images.
std::vector<ImportedOp> shape_ops();        ///< Views, slices, joins, conversions.

/// nullptr if the op cannot be imported.
const ImportedOp* find_op(const std::string& name);

/// Checks a call against the signature of its op, before it is lowered. The Error says what does not fit.
Status<> check_signature(const ImportedOp& op, const Recording& recording, const RecordedOp& call, Expense& expense);

inline constexpr const char* kIntegers = "arithmetic on whole numbers; convert to float32 first";
/// Whether the tensors of the call hold types that the op takes.
bool takes_types_of(const ImportedOp& op, Call& call);

/// Whether there is a hint of its own (hints.cpp) for an op that cannot be imported.
bool has_hint(const std::string& name);
/// Says what to use in place of an op that cannot be imported.
std::string hint_for(const std::string& name);

}  // namespace retrace::solver
