// SPDX-License-Identifier: MIT
#include "tests/simulation/world.hpp"

#include "tests/simulation/party.hpp"

namespace retrace::sim {

bool NetworkSource::reach(NodeId server) {
    constexpr int kTries = 4;
    const Millis now = world_.clock.now();
    for (int i = 0; i < kTries; ++i) {
        if (world_.network.send(self_, server, now) && world_.network.send(server, self_, now)) return true;
    }
    return false;
}

Result<Bytes> NetworkSource::program(const Hash32& root, std::uint64_t limit) {
    if (!reach(kHostNode)) return error("the node does not answer");
    const auto found = world_.uploads.programs.find(root);
    if (found == world_.uploads.programs.end()) return error("nobody serves the program");
    if (found->second.size() > limit) return error("the program is longer than it may be");
    return found->second;
}

Result<solver::StateRoots> NetworkSource::state(const Hash32& root) {
    for (const auto& party : world_.parties) {
        if (!party->up() || party->provider() == nullptr) continue;
        if (party->id() != self_ && !reach(party->id())) continue;
        if (auto found = party->provider()->state(root)) return found;
    }
    return error("nobody serves the state");
}

Result<kernels::Tensor> NetworkSource::tensor(const Hash32& root, const kernels::TensorRecord& record) {
    if (const auto found = world_.uploads.tensors.find(root); found != world_.uploads.tensors.end() && reach(kHostNode))
        return found->second;
    for (const auto& party : world_.parties) {
        if (!party->up() || party->provider() == nullptr) continue;
        if (party->id() != self_ && !reach(party->id())) continue;
        auto found = party->provider()->tensor(root, record);
        if (found && kernels::tensor_root(*found, world_.pool) == root) return found;
    }
    return error("nobody serves the tensor");
}

Result<kernels::Tensor> NetworkSource::message_tensor(const Hash32& root, const kernels::TensorRecord& record,
                                                      std::uint64_t task, std::uint32_t run) {
    for (const auto& party : world_.parties) {
        if (!party->up() || party->provider() == nullptr) continue;
        if (party->id() != self_ && !reach(party->id())) continue;
        if (party->id() != self_ && !party->serves_messages_to(self_)) continue;
        auto found = party->provider()->message_tensor(root, record, task, run);
        if (found && kernels::tensor_root(*found, world_.pool) == root) return found;
    }
    return error("nobody serves the message");
}

}  // namespace retrace::sim
