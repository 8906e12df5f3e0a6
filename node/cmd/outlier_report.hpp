// SPDX-License-Identifier: MIT
// Reports, as text and as JSON, whether the digits of a task's products suffice (measured by
// kernels/exec/outliers.hpp).
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "kernels/exec/outliers.hpp"

namespace retrace::node::cli {

struct OutlierSampling {
    std::string text;         ///< One line, or two where a product may need more digits; no trailing newline.
    boost::json::value json;  ///< null if no block was measured.
};
/// Measures the products of the step from `state`; the state and data must be in memory. Too little memory is not an
/// error: the text reports it.
OutlierSampling sample_outliers(kernels::Executor& executor, const kernels::Program& program,
                                const kernels::State& state, const kernels::Inputs& inputs);

}  // namespace retrace::node::cli
