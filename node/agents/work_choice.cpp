// SPDX-License-Identifier: MIT
#include "node/agents/work_choice.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdio>

namespace retrace::node {
namespace {

constexpr double kMost = 1e30;  // Products of two stay finite, and quotients by at least kLeast.
constexpr double kLeast = 1e-9;

double bounded(double value) { return std::isnan(value) ? 0 : std::clamp(value, 0.0, kMost); }

/// Multiply-adds a second. A measurement of this machine is short and undisturbed, and that of the ledger has the time
/// of its calls in it: a deadline is met if the slower one meets it.
double speed_of(const Machine& machine, double block) {
    const double own = bounded(machine.multiply_adds_per_s), proved = bounded(machine.proved_per_block) / block;
    return own > 0 && proved > 0 ? std::min(own, proved) : std::max(own, bounded(proved));
}

/// Seconds for a segment.
double segment_s(const WorkTerms& terms, const Machine& machine) {
    const double block = std::max(bounded(machine.block_s), kLeast);
    const double work = bounded(terms.segment_work), speed = speed_of(machine, block);
    const double time = work > 0 && speed > 0 ? work / std::max(speed, kLeast) : bounded(terms.checkpoint_s);
    return std::max(block, bounded(time));
}

double hours_of(const WorkTerms& terms, const Machine& machine) {
    return bounded(static_cast<double>(terms.segments) * segment_s(terms, machine)) / 3600;
}

double cost_of(const WorkTerms& terms, const Machine& machine) {
    return bounded(static_cast<double>(terms.segments) * bounded(terms.segment_fees)) +
           std::min(bounded(machine.loss_rate), 1.0) * bounded(terms.lock);
}

std::string brings(const Profit& profit) {
    return "it brings at most " + short_coins(profit.per_hour) + " coins an hour, in " + short_coins(profit.hours) +
           " hours of this machine";
}

}  // namespace

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f %%", std::min(share, 1e4) * 100);
    return text;
}

Profit expected_profit(const WorkTerms& terms, const Machine& machine) {
    Profit out;
    if (terms.segments == 0) return out;
    const double all = static_cast<double>(terms.segments), segment = segment_s(terms, machine);
    out.hours = hours_of(terms, machine);
    out.cost = cost_of(terms, machine);
    out.per_hour = (bounded(all * bounded(terms.segment_price)) - out.cost) / std::max(out.hours, kLeast);
    const auto share = [](double time, double window) { return time / std::max(bounded(window), kLeast); };
    const double each = share(segment, terms.checkpoint_s);
    out.load = bounded(terms.fits_itself ? std::min(1.0, each)
                                         : std::max(each, share(bounded(all * segment), terms.finish_s)));
    if (machine.on_device) out.load = std::min(1.0, out.load);
    return out;
}

std::uint64_t end_of(const WorkTerms& terms, const Machine& machine, std::uint64_t begins) {
    const double block = std::max(bounded(machine.block_s), kLeast);
    const double paced = (static_cast<double>(terms.segments) + 1) * std::max(block, bounded(terms.checkpoint_s));
    const double time = terms.fits_itself ? paced : std::min(paced, std::max(block, bounded(terms.finish_s)));
    const double blocks = std::ceil(bounded(time) / block);
    constexpr double kBlocksMost = 1e15;  // A double has every whole number up to it.
    const auto whole = static_cast<std::uint64_t>(std::min(blocks, kBlocksMost));
    return begins > UINT64_MAX - whole ? UINT64_MAX : begins + whole;
}

const ReservedTime* in_the_way_of(const std::vector<ReservedTime>& reserved, double load, std::uint64_t ends) {
    for (const ReservedTime& one : reserved)
        if (ends > one.from && load > one.left + kRounding) return &one;
    return nullptr;
}

void take_time(std::vector<ReservedTime>& reserved, double load, std::uint64_t ends) {
    for (ReservedTime& one : reserved)
        if (ends > one.from) one.left -= load;
}

std::string keeps_words(const ReservedTime& reserved, std::uint64_t ends) {
    return "it may run until block " + std::to_string(ends) + ", and reservation " +
           std::to_string(reserved.reservation) + " keeps time from block " + std::to_string(reserved.from) +
           ", when " + percent(std::max(reserved.left, 0.0)) + " is left";
}

double price_at(const WorkTerms& terms, const Machine& machine, double per_hour) {
    if (terms.segments == 0) return kMost;
    const double wanted = bounded(bounded(per_hour) * hours_of(terms, machine)) + cost_of(terms, machine);
    return bounded(wanted / static_cast<double>(terms.segments));
}

double loss_rate_of(const market::Reputation& reputation) {
    const double lost = static_cast<double>(reputation.faults) + reputation.silences;
    return lost / (1.0 + reputation.settled + lost);
}

std::vector<Choice> choose_work(const std::vector<Candidate>& candidates, const Machine& machine, Room room,
                                std::optional<double> min_per_hour) {
    struct Entry {
        Choice choice;
        double lock = 0;
    };
    std::vector<Entry> entries;
    for (const Candidate& candidate : candidates)
        entries.push_back({{candidate.task,
                            false,
                            expected_profit(candidate.terms, machine),
                            {},
                            end_of(candidate.terms, machine, candidate.begins)},
                           bounded(candidate.terms.lock)});
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return a.choice.profit.per_hour > b.choice.profit.per_hour;
    });
    std::vector<Choice> out;
    for (Entry& entry : entries) {
        Choice& choice = entry.choice;
        const Profit& profit = choice.profit;
        if (min_per_hour && profit.per_hour < *min_per_hour) {
            choice.why = brings(profit) + "; --min-price asks for " + short_coins(*min_per_hour);
        } else if (profit.load > room.load + kRounding) {
            choice.why = brings(profit) + ", but its deadlines need " + percent(profit.load) +
                         " of this machine's time and " + percent(std::max(room.load, 0.0)) + " is left";
        } else if (const ReservedTime* kept = in_the_way_of(room.reserved, profit.load, choice.ends)) {
            choice.why = brings(profit) + ", but its deadlines need " + percent(profit.load) +
                         " of this machine's time, " + keeps_words(*kept, choice.ends);
        } else if (entry.lock > room.stake) {
            choice.why = brings(profit) + ", but it locks " + short_coins(entry.lock) + " of stake and " +
                         short_coins(std::max(room.stake, 0.0)) + " is left; raise --stake";
        } else if (room.most == 0) {
            choice.why = brings(profit) + "; others bring more, and bids are limited in one block";
        } else {
            choice.taken = true;
            choice.why = brings(profit) + "; its deadlines need " + percent(profit.load) + " of this machine's time";
            room.load -= profit.load;
            take_time(room.reserved, profit.load, choice.ends);
            room.stake -= entry.lock;
            --room.most;
        }
        out.push_back(std::move(choice));
    }
    return out;
}

void ChoiceHistory::update(std::uint64_t height, const std::vector<Choice>& now) {
    const auto is_in = [](const std::vector<Choice>& choices, std::uint64_t task) {
        return std::any_of(choices.begin(), choices.end(), [&](const Choice& one) { return one.task == task; });
    };
    std::vector<EarlierChoice> left;
    for (const Choice& choice : last_)
        if (!is_in(now, choice.task)) left.push_back({height_, choice});
    for (EarlierChoice& before : earlier_)
        if (!is_in(now, before.choice.task) && !is_in(last_, before.choice.task)) left.push_back(std::move(before));
    if (left.size() > kKept) left.resize(kKept);
    earlier_ = std::move(left);
    last_ = now;
    height_ = height;
}

namespace {

boost::json::object row_of(const Choice& choice) {
    boost::json::object out{{"task", choice.task}, {"taken", choice.taken}};
    const bool priced = choice.profit.hours > 0;
    const auto number = [&](double value) { return priced ? boost::json::value(value) : boost::json::value(nullptr); };
    const double profit = choice.profit.per_hour;
    out["per_hour"] = priced ? boost::json::value((profit < 0 ? "-" : "") + amount_of(std::abs(profit)).to_decimal())
                             : boost::json::value(nullptr);
    out["hours"] = number(choice.profit.hours);
    out["load"] = number(choice.profit.load);
    out["reason"] = choice.why;
    return out;
}

}  // namespace

std::string choices_json(const std::vector<Choice>& choices) {
    boost::json::array out;
    for (const Choice& choice : choices) out.push_back(row_of(choice));
    return boost::json::serialize(out);
}

std::string earlier_json(const std::vector<EarlierChoice>& earlier) {
    boost::json::array out;
    for (const EarlierChoice& one : earlier) {
        boost::json::object row = row_of(one.choice);
        row["height"] = one.height;
        out.push_back(std::move(row));
    }
    return boost::json::serialize(out);
}

std::string reserved_json(const std::vector<ReservedTime>& reserved) {
    boost::json::array out;
    for (const ReservedTime& one : reserved)
        out.push_back(boost::json::object{{"reservation", one.reservation},
                                          {"from", one.from},
                                          {"until", one.until},
                                          {"load", one.load},
                                          {"left", one.left}});
    return boost::json::serialize(out);
}

double coins_of(const ledger::U256& amount) {
    double out = 0;
    for (const std::uint8_t byte : amount.to_be()) out = out * 256 + byte;
    return out / 1e18;
}

ledger::U256 amount_of(double coins) {
    constexpr double kCoinsMost = static_cast<double>(std::uint64_t{1} << 60);
    if (!(coins > 0)) return {};
    const double capped = std::min(coins, kCoinsMost), whole = std::floor(capped);
    const auto millionths = static_cast<std::uint64_t>(std::ceil((capped - whole) * 1e6));
    constexpr std::uint64_t kMillionth = 1'000'000'000'000;
    return (ledger::U256(static_cast<std::uint64_t>(whole)) * ledger::U256(1'000'000) + ledger::U256(millionths)) *
           ledger::U256(kMillionth);
}

std::string short_coins(double coins) {
    char text[64];
    const double size = std::abs(coins);
    std::snprintf(text, sizeof text,
                  size >= 1e9    ? "%.3g"
                  : size >= 100  ? "%.0f"
                  : size >= 0.01 ? "%.3f"
                                 : "%.3g",
                  coins);
    std::string out = text;
    if (out.find('.') != std::string::npos && out.find('e') == std::string::npos) {
        out.erase(out.find_last_not_of('0') + 1);
        if (out.ends_with('.')) out.pop_back();
    }
    return out;
}

}  // namespace retrace::node
