// SPDX-License-Identifier: MIT
// One encoded request of ABCI into one encoded answer. For the sources that include CometBFT's messages.
#pragma once

#include <functional>
#include <string>

#include "node/server/comet/abci_server.hpp"
#include "node/server/comet/version.hpp"
#include "server/comet/abci.pb.h"

namespace retrace::node::engine {

inline View bytes(const std::string& text) { return view(std::string_view(text)); }
inline std::string text(View bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Fills the answer to a request. Returns why the node cannot go on, which CometBFT gets as an exception; empty: it goes
/// on.
using AbciDispatch = std::function<std::string(const abci::Request& request, abci::Response& response)>;

/// `on_fatal` is called with the reason, before CometBFT gets it.
AbciAnswer answer_abci(View message, const AbciDispatch& dispatch,
                       const std::function<void(const std::string&)>& on_fatal);

/// Answers Info. Returns why this version of CometBFT cannot be served on a chain of that line; empty: it can.
std::string answer_info(const abci::RequestInfo& request, CometLine line, std::uint64_t height, View app_hash,
                        abci::Response& response);

}  // namespace retrace::node::engine
