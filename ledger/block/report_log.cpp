// SPDX-License-Identifier: MIT
#include "ledger/block/report_log.hpp"

#include <algorithm>

#include "ledger/crypto/keccak.hpp"
#include "ledger/state/supply.hpp"

namespace retrace::ledger {
namespace {

/// More than a block can hold: at most 262,144 bytes of evidence, and votes of at most kValidatorsMax validators.
constexpr std::size_t kReportedMax = 4096;

Hash32 topic() { return keccak256(view(std::string_view("retrace/engine-report/1"))); }

template <std::size_t kSize>
std::array<std::uint8_t, kSize> read_array(Reader& in) {
    std::array<std::uint8_t, kSize> out{};
    const View bytes = in.raw(kSize);
    if (bytes.size() == kSize) std::ranges::copy(bytes, out.begin());
    return out;
}

}  // namespace

Log report_log(const EngineReport& report) {
    Writer out;
    out.u32(static_cast<std::uint32_t>(report.missed.size()));
    for (const ConsensusAddress& validator : report.missed) out.raw(validator);
    out.u32(static_cast<std::uint32_t>(report.misbehavior.size()));
    for (const Misbehavior& one : report.misbehavior) out.raw(one.validator).u64(one.height);
    out.u32(static_cast<std::uint32_t>(report.shares.size()));
    for (const BeaconShare& share : report.shares) out.raw(share.validator).raw(share.proof);
    return {ledger_address(), {topic()}, std::move(out).take()};
}

Result<EngineReport, CodecError> read_report(std::span<const Log> system_logs) {
    EngineReport report;
    if (system_logs.empty() || system_logs.front().address != ledger_address() ||
        system_logs.front().topics != std::vector<Hash32>{topic()})
        return report;
    Reader in(system_logs.front().data);
    for (std::uint32_t left = in.count(kReportedMax, 20); left > 0 && in.ok(); --left)
        report.missed.push_back(read_array<20>(in));
    for (std::uint32_t left = in.count(kReportedMax, 28); left > 0 && in.ok(); --left) {
        const auto validator = read_array<20>(in);
        report.misbehavior.push_back({validator, in.u64()});
    }
    for (std::uint32_t left = in.count(kReportedMax, 101); left > 0 && in.ok(); --left) {
        const auto validator = read_array<20>(in);
        report.shares.push_back({validator, read_array<81>(in)});
    }
    RETRACE_CHECK(in.finish());
    return report;
}

}  // namespace retrace::ledger
