// SPDX-License-Identifier: MIT
#include "node/server/methods/backend.hpp"

#include "node/server/jsonrpc/metered_view.hpp"

namespace retrace::node::rpc {

std::optional<std::uint64_t> height_of(const Backend& backend, const BlockRef& ref) {
    const std::uint64_t tip = backend.chain.height();
    switch (ref.kind) {
        case BlockRef::Kind::latest:
        case BlockRef::Kind::pending: return tip;
        case BlockRef::Kind::earliest: return 0;
        case BlockRef::Kind::height: break;
        case BlockRef::Kind::hash: return backend.chain.height_of(ref.hash);
    }
    if (ref.height > tip) return std::nullopt;
    return ref.height;
}

Status<RpcError> check_kept(const Backend& backend, std::uint64_t height) {
    const std::uint64_t oldest = backend.chain.oldest_block();
    if (height == 0 || height >= oldest) return Unit{};
    return block_not_kept(backend, height);
}

Unexpected<RpcError> block_not_kept(const Backend& backend, std::uint64_t height) {
    return server_error("pruned history unavailable: block " + std::to_string(height) + " is not kept; the oldest is " +
                        std::to_string(backend.chain.oldest_block()));
}

Checked<std::uint64_t> known_height(const Backend& backend, const BlockRef& ref) {
    const auto height = height_of(backend, ref);
    if (!height) return server_error("header not found");
    return *height;
}

Checked<StateAt> state_at(const Backend& backend, Caller& caller, const BlockRef& ref) {
    RETRACE_TRY(height, known_height(backend, ref));
    auto view = backend.chain.view_at(height);
    if (!view) return Unexpected{state_not_kept(backend.chain, height)};
    return StateAt{height, std::make_shared<MeteredView>(caller, backend.chain, height, std::move(view).value())};
}

}  // namespace retrace::node::rpc
