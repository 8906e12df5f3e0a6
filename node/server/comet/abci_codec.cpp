// SPDX-License-Identifier: MIT
#include "node/server/comet/abci_codec.hpp"

#include <limits>

#include "node/server/comet/version.hpp"

namespace retrace::node::engine {
namespace {

constexpr const char* kAbciVersion = "2.0.0";

}  // namespace

AbciAnswer answer_abci(View message, const AbciDispatch& dispatch,
                       const std::function<void(const std::string&)>& on_fatal) {
    abci::Request request;
    abci::Response response;
    std::string fatal;
    if (message.size() > std::numeric_limits<int>::max() ||
        !request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
        fatal = "CometBFT sent a message that does not decode";
    } else {
        fatal = dispatch(request, response);
    }
    AbciAnswer answer;
    answer.flush = request.has_flush();
    if (!fatal.empty()) {
        // CometBFT ends itself at an exception, so no block follows one that could not be executed.
        response.mutable_exception()->set_error(fatal);
        answer.fatal = true;
        if (on_fatal) on_fatal(fatal);
    }
    answer.message.resize(response.ByteSizeLong());
    response.SerializeToArray(answer.message.data(), static_cast<int>(answer.message.size()));
    return answer;
}

std::string answer_info(const abci::RequestInfo& request, CometLine line, std::uint64_t height, View app_hash,
                        abci::Response& response) {
    auto& out = *response.mutable_info();
    out.set_data("retrace");
    out.set_app_version(1);
    out.set_last_block_height(static_cast<std::int64_t>(height));
    if (height != 0) out.set_last_block_app_hash(text(app_hash));
    // A program that asks over RPC leaves the versions empty.
    if (request.abci_version().empty() ||
        (request.abci_version() == kAbciVersion && line_of(request.version()) == line))
        return {};
    return wrong_version(request.version() + " with ABCI " + request.abci_version());
}

}  // namespace retrace::node::engine
