// SPDX-License-Identifier: MIT
#include "node/server/rules.hpp"

#include <spdlog/spdlog.h>

#include <boost/json/parse.hpp>

#include "contracts/calls/addresses.hpp"
#include "contracts/executor.hpp"
#include "contracts/interfaces.hpp"
#include "node/server/config/params_json.hpp"

namespace retrace::node {

Rules native_rules() {
    Rules rules;
    rules.executor = std::make_unique<contracts::Executor>([count = rules.broken_invariants](const std::string& what) {
        ++*count;
        spdlog::error(
            "event=broken_invariant what=\"{}\" effect=\"undone; a scheduled item freezes its task\" "
            "remedy=\"please report it with the block's height\"",
            what);
    });
    for (const contracts::Contract contract : contracts::kContracts) {
        rules.contracts.push_back({std::string(contracts::interface_name(contract)), contracts::address_of(contract),
                                   abi::abi_json(contract)});
    }
    market::Params developer = default_params();
    developer.developer_chain = true;
    rules.dev_genesis = market::encode(developer);
    rules.encode_genesis = [](std::string_view text) -> Result<Bytes> {
        if (text.empty()) return market::encode(default_params());
        boost::system::error_code code;
        const boost::json::value value = boost::json::parse(text, code);
        if (code || !value.is_object()) return error("genesis: contracts must be an object");
        RETRACE_TRY(params, params_from_json(value.get_object()));
        return market::encode(params);
    };
    return rules;
}

}  // namespace retrace::node
