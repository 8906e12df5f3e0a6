// SPDX-License-Identifier: MIT
// Records of the market and the parameters of genesis: a record has exactly one encoding, and escrow and stake can be
// computed from any parameters that pass the check.
#include "market/escrow.hpp"
#include "market/groups.hpp"
#include "market/masks/records.hpp"
#include "market/params.hpp"
#include "market/price_curve.hpp"
#include "market/record.hpp"
#include "market/reservations.hpp"
#include "market/rollbacks.hpp"
#include "market/types.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace market;
using AnyRecord =
    std::variant<TaskSpec, Task, Bid, Run, Checkpoint, Segment, Audit, Dispute, Report, Stake, SolverInfo, VerifierInfo,
                 Params, GroupSpec, Group, Round, RoundMessage, Holding, MemberSegment, Member, RoundMasks, MemberMasks,
                 Auctions, Reservation, Rollbacks, MemberAttempts, Consent>;

/// Fills fields so that enums are not zero and lists are not empty.
struct Filler {
    template <class T>
    static void fill(T& value) {
        if constexpr (std::is_enum_v<T>)
            value = static_cast<T>(1);
        else if constexpr (Record<T>)
            std::apply([](auto&... field) { (fill(field), ...); }, T::tie(value));
        else if constexpr (std::same_as<T, std::string>)
            value = "text";
        else if constexpr (requires { value.emplace_back(); })
            fill(value.emplace_back());
    }
};

template <std::size_t I = 0>
void round_trip(std::size_t index, View bytes) {
    if constexpr (I < std::variant_size_v<AnyRecord>) {
        if (index != I) return round_trip<I + 1>(index, bytes);
        const auto record = decode_record<std::variant_alternative_t<I, AnyRecord>>(bytes);
        if (record) require(equal(encode_record(*record), bytes), "one record has one encoding");
    }
}

template <class... T>
std::vector<Bytes> samples(std::type_identity<std::variant<T...>>) {
    std::vector<Bytes> out;
    const auto add = [&]<class Sample>(Sample record) {
        Filler::fill(record);
        out.push_back(with_kind(static_cast<std::uint8_t>(out.size()), encode_record(record)));
    };
    (add(T{}), ...);
    return out;
}

}  // namespace

std::vector<Bytes> seeds() { return samples(std::type_identity<AnyRecord>{}); }

void run(View input) {
    Choices choices(input);
    const std::size_t index = choices.below(std::variant_size_v<AnyRecord>);
    const View bytes = choices.rest();
    round_trip(index, bytes);
    if (const auto params = decode_params(bytes)) {
        require(equal(encode(*params), bytes), "one set of parameters has one encoding");
        require(check(*params).has_value(), "parameters that decode were checked");
    }
}

}  // namespace retrace::fuzz
