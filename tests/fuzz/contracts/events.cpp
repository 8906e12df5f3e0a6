// SPDX-License-Identifier: MIT
// Logs and revert data as an agent or explorer reads them from an untrusted node.
#include "contracts/calls/encode.hpp"
#include "ledger/block/receipt.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace contracts;

/// One log of every event, with its default values.
template <class... Event>
std::vector<ledger::Log> every_log(std::type_identity<std::variant<Event...>>) {
    return {to_log(Event{})...};
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out{with_kind(1, calldata(Refused{203, "slug"}))};
    for (const ledger::Log& log : every_log(std::type_identity<AnyEvent>{})) {
        Writer bytes;
        encode_to(bytes, log);
        out.push_back(with_kind(0, bytes.data()));
    }
    return out;
}

void run(View input) {
    Choices choices(input);
    const bool is_refusal = choices.flip();
    const View bytes = choices.rest();
    if (is_refusal) {
        if (const auto refused = decode_refusal(bytes))
            require(equal(calldata(*refused), bytes), "one refusal has one encoding");
        return;
    }
    Reader in(bytes);
    const ledger::Log log = ledger::decode_log(in);
    if (!in.finish()) return;
    const auto event = decode_any_event(log);
    if (!event) return;
    const ledger::Log again = std::visit([](const auto& e) { return to_log(e); }, *event);
    require(again == log, "one event has one log");
}

}  // namespace retrace::fuzz
