// SPDX-License-Identifier: MIT
#include "contracts/calls/encode_templates.hpp"
#include "contracts/records/methods.hpp"

namespace retrace::contracts {

template <class Read>
std::optional<typename Read::Answer> decode_answer(View output) {
    abi::Type returns;
    returns.kind = abi::Type::Kind::tuple;
    returns.parts.push_back(abi::type_of<typename Read::Answer>());
    const auto value = abi::decode(returns, output);
    if (!value) return std::nullopt;
    typename Read::Answer answer;
    abi::from_value(std::get<abi::List>(value->data)[0], answer);
    return answer;
}

// Taking the addresses instantiates the templates; a new method is covered through the variant.
namespace {

template <class... Read>
auto instantiate_reads(std::type_identity<std::variant<Read...>>) {
    return std::tuple{std::tuple{&calldata<Read>, &decode_answer<Read>, &signature_of<Read>}...};
}
[[gnu::used]] const auto kReadFunctions = instantiate_reads(std::type_identity<AnyRead>{});

}  // namespace

}  // namespace retrace::contracts
