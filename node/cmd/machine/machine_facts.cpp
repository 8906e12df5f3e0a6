// SPDX-License-Identifier: MIT
#include "node/cmd/machine/machine_facts.hpp"

#include <chrono>

#include "contracts/records/views.hpp"
#include "node/agents/remote_state.hpp"

namespace retrace::node::machine {
namespace {

constexpr std::chrono::seconds kPause{2};
constexpr std::chrono::seconds kDeadline{5};  // Of a call.
constexpr std::uint64_t kPaceBlocks = 100;

}  // namespace

FactsReader::FactsReader(std::string node_url, const ledger::Address& party)
    : node_url_(std::move(node_url)), party_(party), thread_([this] { run(); }) {}

FactsReader::~FactsReader() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

LedgerFacts FactsReader::get() const {
    const std::lock_guard lock(mutex_);
    return facts_;
}

void FactsReader::run() {
    RpcClient::Options options;
    options.deadline = kDeadline;
    auto client = RpcClient::connect(node_url_, options);
    LedgerFacts facts;
    facts.income = IncomeBook(party_);
    for (std::unique_lock lock(mutex_); !stopping_;) {
        lock.unlock();
        Status<> done = Unit{};
        try {
            done = client ? read(*client, facts) : Status<>(error(client.error().message));
        } catch (const std::exception& failed) {  // This thread must not end an agent that has duties.
            done = error(failed.what());
        }
        facts.trouble = done ? std::string() : done.error().message;
        lock.lock();
        facts_ = facts;
        wake_.wait_for(lock, kPause, [this] { return stopping_; });
    }
}

Status<> FactsReader::read(RpcClient& client, LedgerFacts& facts) {
    const auto failed = [](const RpcFailure& failure) { return error(failure.message); };
    const auto stopped = [this] {
        const std::lock_guard lock(mutex_);
        return stopping_;
    };
    if (facts.chain_id == 0) {
        const auto chain_id = client.chain_id();
        if (!chain_id) return failed(chain_id.error());
        facts.chain_id = *chain_id;
    }
    const auto height = client.height();
    if (!height) return failed(height.error());
    if (*height != facts.height) {
        const auto time = client.block_time(*height);
        if (!time) return failed(time.error());
        if (stopped()) return Unit{};
        const auto account = client.account(party_);
        if (!account) return failed(account.error());
        if (stopped()) return Unit{};
        const RemoteState state(client, *height);
        market::Stake stake;
        state.read([&] { stake = contracts::views::stake(state, party_); });
        if (state.failure()) return error(state.failure()->message);
        const std::uint64_t from = *height > kPaceBlocks ? *height - kPaceBlocks : 1;  // Block 0 has the genesis' time.
        if (const auto first = client.block_time(from); first && *height > from && *time > *first)
            facts.pace_s = static_cast<double>(*time - *first) / static_cast<double>(*height - from);
        facts.height = *height;
        facts.block_time = *time;
        facts.balance = account->balance;
        facts.stake = stake;
    }
    if (stopped()) return Unit{};
    const IncomeBook::Source source{
        [&](const auto& topics, std::uint64_t from, std::uint64_t to) { return client.logs_with(topics, from, to); },
        [&](std::uint64_t at) { return client.block_time(at); }};
    if (const auto read = facts.income.advance(source, *height); !read) return failed(read.error());
    return Unit{};
}

}  // namespace retrace::node::machine
