// SPDX-License-Identifier: MIT
// Whether the digits of a task's products suffice, as kernels/exec/outliers.hpp measures it, for people and as JSON.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "kernels/exec/outliers.hpp"

namespace retrace::node::cli {

struct OutlierSampling {
    std::string text;         ///< One line, or two where a product may need more digits, without a line's end.
    boost::json::value json;  ///< null where no block was looked at.
};
/// At the products of the step from `state`, which is in memory as the data are. Too little memory for it is no error:
/// the text says so.
OutlierSampling sample_outliers(kernels::Executor& executor, const kernels::Program& program,
                                const kernels::State& state, const kernels::Inputs& inputs);

}  // namespace retrace::node::cli
