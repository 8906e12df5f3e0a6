// SPDX-License-Identifier: MIT
#include "node/server/methods/revert.hpp"

#include <algorithm>
#include <iterator>

#include "contracts/calls/call_status.hpp"
#include "contracts/calls/encode.hpp"
#include "ledger/types/u256.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::uint8_t kErrorSelector[4] = {0x08, 0xc3, 0x79, 0xa0};

/// Whether all bytes are printable ASCII; a reason from a contract need not be valid UTF-8.
bool printable(View text) {
    for (const std::uint8_t c : text) {
        if (c < 0x20 || c > 0x7e) return false;
    }
    return true;
}

}  // namespace

std::optional<std::string> revert_string(View output) {
    if (output.size() < 68 || !equal(output.first(4), kErrorSelector)) return std::nullopt;
    const View body = output.subspan(4);
    const ledger::U256 offset = ledger::U256::from_be(body.first(32));
    const ledger::U256 length = ledger::U256::from_be(body.subspan(32, 32));
    if (offset != ledger::U256{32} || !length.fits_u64() || length.low64() > body.size() - 64) return std::nullopt;
    const View text = body.subspan(64, length.low64());
    if (!printable(text)) return std::nullopt;
    return std::string(text.begin(), text.end());
}

RpcError reverted(View output) {
    auto reason = revert_string(output);
    if (const auto refused = contracts::decode_refusal(output); refused && !reason)
        reason = contracts::reason(static_cast<contracts::CallStatus>(refused->code));
    return {kReverted, reason ? "execution reverted: " + *reason : "execution reverted", to_0x(output)};
}

RpcError reverted_with(std::string_view reason) {
    ensure(reason.size() <= 255 && printable(view(reason)), "a short reason in ASCII");
    Bytes out(4 + 64 + (reason.size() + 31) / 32 * 32);
    std::copy(std::begin(kErrorSelector), std::end(kErrorSelector), out.begin());
    out[4 + 31] = 32;  // offset of the string
    out[4 + 63] = static_cast<std::uint8_t>(reason.size());
    std::copy(reason.begin(), reason.end(), out.begin() + 4 + 64);
    return reverted(out);
}

}  // namespace retrace::node::rpc
