// SPDX-License-Identifier: MIT
// The schemas that ParamInfo::type and Method::result refer to.
#pragma once

#include <string_view>

#include "node/platform/json_values.hpp"

namespace retrace::node::rpc {

/// All schemas by name: components.schemas of the OpenRPC document.
json::object schemas();

/// The schema of a type, with references to `schemas()`: "Quantity", "Hash[]" (array), "Block?" (or null), "Log[]?".
json::object schema_named(std::string_view type);

}  // namespace retrace::node::rpc
