// SPDX-License-Identifier: MIT
#include "tests/stateful/world.hpp"

namespace retrace::stateful {
namespace {

/// Joins neighbouring blocks of a trace into one event, which can be halved.
Trace joined(const Trace& trace) {
    Trace out{trace.params, trace.accounts, {}};
    for (const Event& event : trace.events) {
        auto* last = out.events.empty() ? nullptr : std::get_if<PassBlocks>(&out.events.back());
        if (const auto* blocks = std::get_if<PassBlocks>(&event); blocks != nullptr && last != nullptr)
            last->count += blocks->count;
        else
            out.events.push_back(event);
    }
    return out;
}

}  // namespace

std::optional<Failure> replay(const Trace& trace, const Options& options) {
    World world(trace.params, trace.accounts, options);
    try {
        for (const Event& event : trace.events) world.play(event);
        world.check();
    } catch (const Failure& failure) {
        return failure;
    }
    return std::nullopt;
}

Trace shrink(Trace trace, const std::string& property, const Options& options, double seconds) {
    const double end = processor_seconds() + seconds;
    const auto time_is_up = [&] { return processor_seconds() > end; };
    const auto shorter = [&](Trace candidate) {
        candidate = joined(candidate);
        const auto failure = replay(candidate, options);
        if (!failure || failure->property != property) return false;
        trace = std::move(candidate);
        return true;
    };
    trace = joined(trace);
    const auto without = [&](auto matches) {
        Trace candidate = trace;
        const auto left = std::erase_if(candidate.events, [&](const Event& event) {
            const auto* call = std::get_if<SendCall>(&event);
            return call != nullptr && matches(*call);
        });
        if (left != 0 && !time_is_up()) shorter(std::move(candidate));
    };
    // Removes whole methods and whole parties first, since most of a game is unrelated to the failure.
    std::set<std::string> methods;
    for (const Event& event : trace.events)
        if (const auto* call = std::get_if<SendCall>(&event)) methods.insert(method_name(call->contract, call->data));
    for (const std::string& method : methods)
        without([&](const SendCall& call) { return method_name(call.contract, call.data) == method; });
    for (std::uint32_t i = 0; i < trace.accounts; ++i)
        without([&](const SendCall& call) { return call.sender == party(i); });
    for (std::size_t chunk = std::max<std::size_t>(trace.events.size() / 2, 1); !time_is_up();
         chunk = std::max<std::size_t>(chunk / 2, 1)) {
        bool changed = false;
        // Starts from the end, because later events depend on earlier ones.
        for (std::size_t last = trace.events.size(); last > 0 && !time_is_up();) {
            const std::size_t from = last > chunk ? last - chunk : 0;
            Trace candidate = trace;
            candidate.events.erase(candidate.events.begin() + static_cast<std::ptrdiff_t>(from),
                                   candidate.events.begin() + static_cast<std::ptrdiff_t>(last));
            changed = shorter(std::move(candidate)) || changed;
            last = std::min(from, trace.events.size());
        }
        if (chunk == 1 && !changed) break;
    }
    for (std::size_t i = 0; i < trace.events.size() && !time_is_up(); ++i) {
        for (;;) {
            Trace candidate = trace;
            auto* blocks = std::get_if<PassBlocks>(&candidate.events[i]);
            if (blocks == nullptr || blocks->count < 2) break;
            blocks->count /= 2;
            if (!shorter(std::move(candidate))) break;
        }
    }
    return trace;
}

}  // namespace retrace::stateful
