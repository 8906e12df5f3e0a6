// SPDX-License-Identifier: MIT
// The market's parameters in a genesis file: the section "contracts".
#pragma once

#include <boost/json/object.hpp>

#include "market/params.hpp"

namespace retrace::node {

/// An object of the fields of market::Params by name: durations and counts as numbers, amounts as coins in
/// strings. What is not named keeps its default; an unknown name or a wrong value is an error that names it.
/// The kernel contract is always this program's own.
Result<market::Params> params_from_json(const boost::json::object& json);
boost::json::object params_to_json(const market::Params& params);

/// Defaults of a chain that this program starts.
market::Params default_params();

}  // namespace retrace::node
