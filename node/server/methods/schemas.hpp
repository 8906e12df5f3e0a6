// SPDX-License-Identifier: MIT
// The schemas that methods name in ParamInfo::type and Method::result.
#pragma once

#include <string_view>

#include "node/platform/json_values.hpp"

namespace retrace::node::rpc {

/// All of them by name: components.schemas of the OpenRPC document.
json::object schemas();

/// "Quantity", "Hash[]" (array of), "Block?" (or null), and both: "Log[]?". A reference to one of the above.
json::object schema_named(std::string_view type);

}  // namespace retrace::node::rpc
