// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "merkle/base/result.hpp"

namespace retrace::node::rpc {

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kServerError = -32000;  ///< All errors of the mempool and the state.
inline constexpr int kTimedOut = -32002;     ///< Same code as geth's; clients do not retry automatically.
inline constexpr int kResponseTooLarge = -32003;
inline constexpr int kLimitExceeded = -32005;  ///< EIP-1474; clients retry later.
inline constexpr int kUnauthorized = 4100;     ///< EIP-1193.
inline constexpr int kReverted = 3;

/// The `error` member of a JSON-RPC answer. Clients match the messages, not the codes.
struct RpcError {
    int code = kInternalError;
    std::string message;
    std::optional<std::string> data;  ///< Revert data as "0x…".
};

inline Unexpected<RpcError> rpc_error(int code, std::string message) {
    return {RpcError{code, std::move(message), std::nullopt}};
}
inline Unexpected<RpcError> server_error(std::string message) { return rpc_error(kServerError, std::move(message)); }
inline Unexpected<RpcError> invalid_params(std::string message) {
    return rpc_error(kInvalidParams, std::move(message));
}

}  // namespace retrace::node::rpc
