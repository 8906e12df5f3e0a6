// SPDX-License-Identifier: MIT
// Computes a case's output by definition, from the plain functions of kernels/scalar, random, reduce and
// matmul/reference, and compares other words with it.
#pragma once

#include <string>

#include "kernels/tools/known_answer.hpp"

namespace retrace::kernels::tools {

/// Computes the output without the instruction sets of `kernels/runtime`. Errors: an unknown function or precision.
Result<Words> reference_words(const KnownAnswer& known);

/// Returns an empty string if `words` are the case's output. Otherwise names the first element that differs from the
/// file's own words, or from the reference if the file has only a hash.
std::string difference(const KnownAnswer& known, const Words& words);

}  // namespace retrace::kernels::tools
