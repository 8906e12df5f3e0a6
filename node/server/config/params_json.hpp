// SPDX-License-Identifier: MIT
// The market's parameters in a genesis file: the section "contracts".
#pragma once

#include <boost/json/object.hpp>

#include "market/params.hpp"

namespace retrace::node {

/// Reads fields of market::Params by name: durations and counts are numbers, amounts are strings in coins. A field that
/// is absent keeps its default; an unknown name or a wrong value is an Error that names it. The contract hash is always
/// that of this program's kernels.
Result<market::Params> params_from_json(const boost::json::object& json);
boost::json::object params_to_json(const market::Params& params);

/// Default parameters of a chain that this program creates.
market::Params default_params();

}  // namespace retrace::node
