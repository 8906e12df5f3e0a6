// SPDX-License-Identifier: MIT
#pragma once

#include "node/platform/json_values.hpp"
#include "node/server/jsonrpc/error.hpp"

namespace retrace::node::rpc {

template <class T>
using Checked = Result<T, RpcError>;

/// "invalid argument I: what" with code -32602, as geth words it.
Unexpected<RpcError> invalid_argument(std::size_t index, const std::string& what);

template <class T>
Checked<T> argument(std::size_t index, Parsed<T> parsed) {
    if (!parsed) return invalid_argument(index, parsed.error());
    return std::move(parsed).value();
}

/// The positional parameters of one request. The router has checked their number; an absent optional parameter reads as
/// JSON null.
class Params {
public:
    explicit Params(const json::array& values) : values_(values) {}

    std::size_t size() const noexcept { return values_.size(); }
    const json::value& at(std::size_t index) const;
    bool has(std::size_t index) const { return !at(index).is_null(); }

    Checked<std::uint64_t> u64(std::size_t i) const { return argument(i, parse_u64(at(i))); }
    Checked<Bytes> data(std::size_t i) const { return argument(i, parse_data(at(i))); }
    Checked<Hash32> hash(std::size_t i) const { return argument(i, parse_hash(at(i))); }
    Checked<ledger::Address> address(std::size_t i) const { return argument(i, parse_address(at(i))); }
    Checked<bool> boolean(std::size_t i) const { return argument(i, parse_bool(at(i))); }
    /// `latest` when absent.
    Checked<BlockRef> block(std::size_t i) const;
    Checked<const json::object*> object(std::size_t i) const;
    Checked<const json::array*> array(std::size_t i) const;

private:
    const json::array& values_;
};

}  // namespace retrace::node::rpc
