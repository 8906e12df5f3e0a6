// SPDX-License-Identifier: MIT
#include "node/server/extensions.hpp"

#include "node/artifacts/route.hpp"
#include "node/console/console.hpp"
#include "node/server/artifact_extension.hpp"
#include "node/server/dial_back_method.hpp"

namespace retrace::node {
namespace {

struct DialBackExtension final : Extension {
    DialBackExtension(Node& node, DialBackScope scope) { register_dial_back(node.router(), dial_back, scope); }
    DialBack dial_back;
};

}  // namespace

Result<std::vector<std::unique_ptr<Extension>>> extend(Node& node) {
    std::vector<std::unique_ptr<Extension>> out;
    auto store = Store::open(std::filesystem::path(node.config().data_dir) / "artifacts");
    if (!store) return error(store.error().message);
    auto artifacts = std::make_unique<ArtifactExtension>(std::move(*store), node.chain(), node.application(),
                                                         node.config().artifacts);
    node.route(artifact_route(artifacts->server()));
    out.push_back(std::move(artifacts));
    if (const std::string& who = node.config().rpc.dial_back; who != "off")
        out.push_back(
            std::make_unique<DialBackExtension>(node, who == "all" ? DialBackScope::all : DialBackScope::open));
    if (node.config().rpc.console) {
        node.page(answer_console);
        node.route({"/console/", 0, answer_console});
    }
    return out;
}

}  // namespace retrace::node
