// SPDX-License-Identifier: MIT
// Whether the digits of a task's products suffice, as kernels/exec/crest.hpp measures it, for people and as JSON.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "kernels/exec/crest.hpp"

namespace retrace::node::cli {

/// One line, or two where a product may need more digits, without a line's end.
std::string crest_text(const std::optional<kernels::CrestSummary>& crest);
/// null where no block was looked at: no product by digits, nothing finite, or no memory for the look.
boost::json::value crest_json(const std::optional<kernels::CrestSummary>& crest);

}  // namespace retrace::node::cli
