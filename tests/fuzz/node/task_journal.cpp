// SPDX-License-Identifier: MIT
// A solver's answer to the requester of a task, and the requests that strangers send to a solver.
#include "node/agents/task_journal_wire.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node;

constexpr std::uint64_t kTask = 3;

Journal journal() {
    Journal out;
    out.ended = 70;
    out.dropped = 2;
    out.lines = {{10, 0, "run 0 from checkpoint 0; a CUDA device trains it"}, {12, 1, "commits to checkpoint 1"}};
    return out;
}

}  // namespace

std::vector<Bytes> seeds() {
    const JournalRequest request{kTask, 1'000, {Hash32{{1}}, Hash32{{2}}, 1}};
    return {encode_journal(kTask, journal()), encode_journal(kTask, {}),
            to_bytes(view(std::string_view(encode_target(request))))};
}

void run(View input) {
    if (const auto decoded = decode_journal(input, kTask)) {
        require(decoded->lines.size() <= Journal::kLinesMax, "a log has a limited number of lines");
        for (const JournalLine& line : decoded->lines) {
            require(!line.text.empty() && line.text.size() <= JournalLine::kTextMax, "a line has a limited length");
            for (const char c : line.text) require(c >= ' ' && c <= '~', "a line is printable");
        }
        require(decode_journal(encode_journal(kTask, *decoded), kTask).value() == *decoded, "a log is read as written");
    } else {
        require(!decoded.error().message.empty(), "a refusal says why");
    }
    const std::string_view target(reinterpret_cast<const char*>(input.data()), input.size());
    if (const auto request = decode_target(target)) require(encode_target(*request) == target, "it has one spelling");
}

}  // namespace retrace::fuzz
