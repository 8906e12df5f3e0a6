// SPDX-License-Identifier: MIT
#include "node/agents/earnings.hpp"

#include <algorithm>

#include "contracts/calls/encode.hpp"
#include "merkle/base/non_fatal.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {
namespace {

/// The topic that an address makes: left-padded to 32 bytes.
Hash32 topic_of(const ledger::Address& address) {
    Hash32 out;
    std::copy(address.bytes.begin(), address.bytes.end(), out.bytes.end() - std::ssize(address.bytes));
    return out;
}

std::string counted(std::uint64_t count, const char* what) {
    return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

}  // namespace

Status<RpcFailure> sums_of_logs(const std::function<void()>& adding) {
    try {
        const NonFatalScope sums;
        adding();
        return Unit{};
    } catch (const BrokenInvariant&) {
        return Unexpected{RpcFailure{0, "the amounts in the node's logs are more than all coins", {}}};
    }
}

void Earnings::take(const ledger::Log& log, const ledger::Address& party) {
    if (const auto paid = contracts::decode_event<contracts::SegmentsPaid>(log); paid && paid->solver == party) {
        segments = segments + paid->amount;
        segment_count += paid->count;
    } else if (const auto audit = contracts::decode_event<contracts::AuditPaid>(log);
               audit && audit->auditor == party) {
        audits = audits + audit->amount;
        ++audit_count;
    } else if (const auto kept = contracts::decode_event<contracts::ReservationPaid>(log);
               kept && kept->solver == party) {
        reservations = reservations + kept->amount;
        ++reservation_count;
    } else if (const auto lost = contracts::decode_event<contracts::Slashed>(log); lost && lost->party == party) {
        slashed = slashed + lost->amount;
    }
}

Status<RpcFailure> Earnings::advance(RpcClient& client, const ledger::Address& party, std::uint64_t height) {
    if (height <= last) return Unit{};
    const std::uint64_t from = std::max(last + 1, height >= kBlocks ? height - kBlocks + 1 : 1);
    Earnings more = *this;
    if (more.first == 0) more.first = from;
    for (const auto& topics : earning_topics(party)) {
        RETRACE_TRY(logs, client.logs_with(topics, from, height));
        RETRACE_CHECK(sums_of_logs([&] {
            for (const PlacedLog& placed : logs) more.take(placed.log, party);
        }));
    }
    more.last = height;
    *this = more;
    return Unit{};
}

std::vector<std::vector<std::optional<Hash32>>> earning_topics(const ledger::Address& party) {
    const Hash32 self = topic_of(party);
    // Solver and auditor are the second indexed field of their events, the slashed party is the first.
    return {{std::nullopt, std::nullopt, self}, {std::nullopt, self}};
}

std::string text_of(const Earnings& earnings) {
    return "earned " + describe_coins(earnings.income()) + " (" + counted(earnings.segment_count, "segment") + ", " +
           counted(earnings.audit_count, "audit") +
           (earnings.reservation_count == 0 ? "" : ", " + counted(earnings.reservation_count, "unused reservation")) +
           "); fees " + describe_coins(earnings.fees) + "; slashed " + describe_coins(earnings.slashed);
}

}  // namespace retrace::node
