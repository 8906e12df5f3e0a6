// SPDX-License-Identifier: MIT
#include "node/server/jsonrpc/params.hpp"

namespace retrace::node::rpc {

Unexpected<RpcError> invalid_argument(std::size_t index, const std::string& what) {
    return invalid_params("invalid argument " + std::to_string(index) + ": " + what);
}

const json::value& Params::at(std::size_t index) const {
    static const json::value null;
    return index < values_.size() ? values_[index] : null;
}

Checked<BlockRef> Params::block(std::size_t i) const {
    if (!has(i)) return BlockRef{};
    return argument(i, parse_block(at(i)));
}

Checked<const json::object*> Params::object(std::size_t i) const {
    const json::object* object = at(i).if_object();
    if (object == nullptr) return invalid_argument(i, "not an object");
    return object;
}

Checked<const json::array*> Params::array(std::size_t i) const {
    const json::array* array = at(i).if_array();
    if (array == nullptr) return invalid_argument(i, "not an array");
    return array;
}

}  // namespace retrace::node::rpc
