// SPDX-License-Identifier: MIT
#include "node/cmd/demo/referee_time.hpp"

#include <algorithm>
#include <chrono>

#include "contracts/records/views.hpp"
#include "node/agents/remote_state.hpp"
#include "node/platform/json_values.hpp"

namespace retrace::node {
namespace {

/// Extracts the `move` argument from the calldata of move(uint256,bytes): selector, dispute, offset, length, bytes.
std::optional<Bytes> move_of(const Bytes& calldata) {
    constexpr std::size_t kLengthAt = 4 + 64, kDataAt = kLengthAt + 32;
    if (calldata.size() < kDataAt) return std::nullopt;
    const ledger::U256 size = ledger::U256::from_be(View(calldata).subspan(kLengthAt, 32));
    if (!size.fits_u64() || size.low64() > calldata.size() - kDataAt) return std::nullopt;
    const View bytes = View(calldata).subspan(kDataAt, size.low64());
    return to_bytes(bytes);
}

}  // namespace

std::optional<double> referee_time(RpcClient& client, const DisputeFacts& facts) {
    if (!facts.decided || facts.decided_height == 0) return std::nullopt;
    const auto tx = client.call("eth_getTransactionByHash", {rpc::data(facts.last_move)});
    const boost::json::object* object = tx ? tx->if_object() : nullptr;
    const boost::json::value* input = object != nullptr ? object->if_contains("input") : nullptr;
    if (input == nullptr) return std::nullopt;
    const auto calldata = rpc::parse_data(*input);
    const auto encoded = calldata ? move_of(*calldata) : std::nullopt;
    const auto move = encoded ? verifier::decode_move(*encoded)
                              : Result<verifier::Move, CodecError>(Unexpected{CodecError::truncated});
    const RemoteState state(client, facts.decided_height - 1);
    const auto game = contracts::views::game(state, facts.opened.dispute);
    if (!move || !game || state.failure()) return std::nullopt;
    std::vector<double> times;
    for (int i = 0; i < 21; ++i) {
        verifier::Game copy = *game;
        const auto start = std::chrono::steady_clock::now();
        const auto applied = verifier::apply(copy, copy.mover, *move);
        const auto end = std::chrono::steady_clock::now();
        if (!applied || copy.phase != verifier::Phase::decided) return std::nullopt;
        times.push_back(std::chrono::duration<double, std::micro>(end - start).count());
    }
    std::nth_element(times.begin(), times.begin() + 10, times.end());
    return times[10];
}

}  // namespace retrace::node
