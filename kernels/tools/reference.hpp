// SPDX-License-Identifier: MIT
// The definition of a case's output, from the plain functions of kernels/scalar, random, reduce and
// matmul/reference, and how other words differ from it.
#pragma once

#include <string>

#include "kernels/tools/known_answer.hpp"

namespace retrace::kernels::tools {

/// Uses no instruction set of `kernels/runtime`. Errors: an unknown function or precision.
Result<Words> reference_words(const KnownAnswer& known);

/// Empty where `words` are the case's output. Otherwise names the first element that differs: from the file's own
/// words, or from the reference where the file has a hash alone.
std::string difference(const KnownAnswer& known, const Words& words);

}  // namespace retrace::kernels::tools
