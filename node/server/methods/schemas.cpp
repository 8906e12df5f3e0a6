// SPDX-License-Identifier: MIT
#include "node/server/methods/schemas.hpp"

#include "market/reservations.hpp"
#include "node/explain/task_reason.hpp"
#include "node/server/methods/answers.hpp"

namespace retrace::node::rpc {
namespace {

using Members = std::vector<std::pair<const char*, const char*>>;  // name and type

json::object text_schema(const char* title, const char* pattern) {
    return {{"title", title}, {"type", "string"}, {"pattern", pattern}};
}

/// Schema of a result object: exactly these members; those in `extra` are optional.
json::object answer_schema(const char* title, const Members& members, const Members& extra = {}) {
    json::object properties;
    json::array required;
    for (const auto& [name, type] : members) {
        properties[name] = schema_named(type);
        required.emplace_back(name);
    }
    for (const auto& [name, type] : extra) properties[name] = schema_named(type);
    return {{"title", title},
            {"type", "object"},
            {"required", std::move(required)},
            {"properties", std::move(properties)},
            {"additionalProperties", false}};
}

/// Schema of a parameter object: all members are optional, and other members are allowed.
json::object parameter_schema(const char* title, const Members& members) {
    json::object properties;
    for (const auto& [name, type] : members) properties[name] = schema_named(type);
    return {{"title", title}, {"type", "object"}, {"properties", std::move(properties)}};
}

void add_values(json::object& out) {
    out["Quantity"] = text_schema("unsigned integer in hex", "^0x(0|[1-9a-f][0-9a-f]*)$");
    out["Data"] = text_schema("bytes in hex", "^0x([0-9a-f]{2})*$");
    out["Hash"] = text_schema("32 bytes in hex", "^0x[0-9a-f]{64}$");
    out["Address"] = text_schema("20 bytes in hex", "^0x[0-9a-fA-F]{40}$");
    out["Id"] = text_schema("id of a filter or a subscription", "^0x[0-9a-f]+$");
    out["Text"] = json::object{{"title", "text"}, {"type", "string"}};
    out["Boolean"] = json::object{{"title", "true or false"}, {"type", "boolean"}};
    out["Count"] = json::object{{"title", "number"}, {"type", "integer"}, {"minimum", 0}};
    out["Ratio"] = json::object{{"title", "0 to 1"}, {"type", "number"}, {"minimum", 0}, {"maximum", 1}};
    out["Percentile"] = json::object{{"title", "percent"}, {"type", "number"}, {"minimum", 0}, {"maximum", 100}};
    out["Object"] = json::object{{"title", "object"}, {"type", "object"}};
    out["Empty"] = json::object{{"title", "empty array"}, {"type", "array"}, {"maxItems", 0}};
    out["BlockTag"] = json::object{
        {"title", "latest, pending, safe, finalized, earliest, height, hash, {blockNumber} or {blockHash}"},
        {"type", json::array{"string", "object"}}};
    out["OneOrMore"] = json::object{{"title", "a value, an array of values, or null"}};
}

const Members kHeader{{"number", "Quantity"},        {"hash", "Hash"},           {"parentHash", "Hash"},
                      {"timestamp", "Quantity"},     {"gasLimit", "Quantity"},   {"gasUsed", "Quantity"},
                      {"baseFeePerGas", "Quantity"}, {"miner", "Address"},       {"stateRoot", "Hash"},
                      {"transactionsRoot", "Hash"},  {"receiptsRoot", "Hash"},   {"logsBloom", "Data"},
                      {"sha3Uncles", "Hash"},        {"difficulty", "Quantity"}, {"totalDifficulty", "Quantity"},
                      {"extraData", "Data"},         {"mixHash", "Hash"},        {"nonce", "Data"}};

void add_blocks(json::object& out) {
    out["Header"] = answer_schema("header of a block", kHeader);
    Members block = kHeader;
    block.insert(block.end(), {{"size", "Quantity"}, {"uncles", "Empty"}});
    out["Block"] = answer_schema("block", block, {{"transactions", "Text"}});
    json::object& body = out["Block"].as_object();
    body["properties"].as_object()["transactions"] =
        json::object{{"anyOf", json::array{schema_named("Hash[]"), schema_named("Transaction[]")}}};
    body["required"].as_array().emplace_back("transactions");
    out["AccessEntry"] = answer_schema("what a transaction names", {{"address", "Address"}, {"storageKeys", "Hash[]"}});
    out["Transaction"] = answer_schema("transaction",
                                       {{"hash", "Hash"},
                                        {"nonce", "Quantity"},
                                        {"from", "Address"},
                                        {"to", "Address?"},
                                        {"gas", "Quantity"},
                                        {"value", "Quantity"},
                                        {"input", "Data"},
                                        {"blockHash", "Hash?"},
                                        {"blockNumber", "Quantity?"},
                                        {"transactionIndex", "Quantity?"},
                                        {"type", "Quantity"},
                                        {"chainId", "Quantity"},
                                        {"gasPrice", "Quantity"},
                                        {"v", "Quantity"},
                                        {"r", "Quantity"},
                                        {"s", "Quantity"}},
                                       {{"maxFeePerGas", "Quantity"},
                                        {"maxPriorityFeePerGas", "Quantity"},
                                        {"accessList", "AccessEntry[]"},
                                        {"yParity", "Quantity"}});
    out["Log"] = answer_schema("event", {{"address", "Address"},
                                         {"topics", "Hash[]"},
                                         {"data", "Data"},
                                         {"blockNumber", "Quantity"},
                                         {"blockHash", "Hash"},
                                         {"blockTimestamp", "Quantity"},
                                         {"transactionHash", "Hash"},
                                         {"transactionIndex", "Quantity"},
                                         {"logIndex", "Quantity"},
                                         {"removed", "Boolean"}});
    out["Changes"] = json::object{{"title", "events, or hashes of blocks or transactions"},
                                  {"anyOf", json::array{schema_named("Log[]"), schema_named("Hash[]")}}};
    out["Receipt"] = answer_schema("receipt",
                                   {{"transactionHash", "Hash"},
                                    {"transactionIndex", "Quantity"},
                                    {"blockHash", "Hash"},
                                    {"blockNumber", "Quantity"},
                                    {"from", "Address"},
                                    {"to", "Address?"},
                                    {"contractAddress", "Address?"},
                                    {"cumulativeGasUsed", "Quantity"},
                                    {"gasUsed", "Quantity"},
                                    {"effectiveGasPrice", "Quantity"},
                                    {"logs", "Log[]"},
                                    {"logsBloom", "Data"},
                                    {"status", "Quantity"},
                                    {"type", "Quantity"}},
                                   {{"revertReason", "Data"}, {"error", "Text"}});
    out["FeeHistory"] =
        answer_schema("fees of past blocks", {{"oldestBlock", "Quantity"}, {"gasUsedRatio", "Ratio[]?"}},
                      {{"baseFeePerGas", "Quantity[]"}, {"reward", "Rewards[]"}});
    out["Rewards"] =
        json::object{{"title", "tips of one block"}, {"type", "array"}, {"items", schema_named("Quantity")}};
}

void add_parameters(json::object& out) {
    out["Call"] = parameter_schema("call", {{"from", "Address"},
                                            {"to", "Address"},
                                            {"gas", "Quantity"},
                                            {"value", "Quantity"},
                                            {"input", "Data"},
                                            {"data", "Data"},
                                            {"accessList", "AccessEntry[]"}});
    out["Filter"] = parameter_schema("log filter", {{"fromBlock", "BlockTag"},
                                                    {"toBlock", "BlockTag"},
                                                    {"blockHash", "Hash"},
                                                    {"address", "OneOrMore"},
                                                    {"topics", "OneOrMore"}});
    out["Overrides"] = json::object{{"title", "balance and nonce by address"}, {"type", "object"}};
    out["Slot"] = parameter_schema("slot of a contract", {{"contract", "Address"}, {"key", "Data"}});
    out["Leaf"] = json::object{{"title", "an account's address, or a slot"},
                               {"oneOf", json::array{schema_named("Address"), schema_named("Slot")}}};
    out["ListQuery"] = parameter_schema(
        "which of them",
        {{"task", "Quantity"}, {"party", "Address"}, {"state", "Text"}, {"before", "Quantity"}, {"limit", "Count"}});
    out["Subscribed"] = parameter_schema("a log filter, or {task} of taskProgress",
                                         {{"address", "OneOrMore"}, {"topics", "OneOrMore"}, {"task", "Quantity"}});
}

void add_node(json::object& out) {
    out["Pool"] = answer_schema("mempool", {{"pending", "Count"}, {"queued", "Count"}, {"bytes", "Count"}});
    out["Status"] = answer_schema("status of a node",
                                  {{"version", "Text"},
                                   {"chain_id", "Count"},
                                   {"engine", "Text"},
                                   {"height", "Count"},
                                   {"block_hash", "Hash"},
                                   {"block_time", "Count"},
                                   {"app_hash", "Hash"},
                                   {"genesis_hash", "Hash"},
                                   {"oldest_state", "Count"},
                                   {"oldest_proof", "Count"},
                                   {"oldest_block", "Count"},
                                   {"syncing", "Boolean"},
                                   {"peers", "Count"},
                                   {"stalled", "Boolean"},
                                   {"halted", "Boolean"},
                                   {"pool", "Pool"}},
                                  {{"reason", "Text"}});
    out["DialBack"] = answer_schema("what a connection back found", {{"port", "Quantity"}, {"outcome", "Text"}},
                                    {{"address", "Text"}});
    out["Contract"] = answer_schema("native contract", {{"name", "Text"}, {"address", "Address"}, {"abi", "Object[]"}});
    out["Slots"] = answer_schema("slots at one height", {{"height", "Count"}, {"values", "Data[]"}});
    out["ChangedSlots"] =
        answer_schema("slots that changed between two blocks",
                      {{"height", "Count"}, {"from_hash", "Hash"}, {"hash", "Hash"}, {"changed", "Data"}});
    out["Account"] =
        answer_schema("account at one height", {{"height", "Count"}, {"nonce", "Quantity"}, {"balance", "Quantity"}});
    out["EncodedHeader"] =
        answer_schema("header of a block", {{"height", "Count"}, {"hash", "Hash"}, {"encoded", "Data"}});
    out["OtherLeaf"] =
        answer_schema("the leaf in the place of an absent one", {{"key", "Hash"}, {"value_hash", "Hash"}});
    out["Proof"] = answer_schema("presence or absence of a leaf", {{"height", "Count"},
                                                                   {"state_root", "Hash"},
                                                                   {"leaf_key", "Hash"},
                                                                   {"value", "Data"},
                                                                   {"siblings", "Hash[]"},
                                                                   {"other", "OtherLeaf?"},
                                                                   {"encoded", "Data"}});
}

void add_market(json::object& out) {
    out["MarketParams"] = schema_of<market::Params>();
    out["Task"] = schema_of<TaskAnswer>();
    out["TaskPage"] = schema_of<Page<TaskSummary>>();
    out["ReservationPage"] = schema_of<Page<market::Reservation>>();
    out["TaskEvent"] = schema_of<TaskEventAnswer>();
    out["Segment"] = schema_of<SegmentAnswer>();
    out["Group"] = schema_of<GroupAnswer>();
    out["Round"] = schema_of<RoundAnswer>();
    out["Bid"] = schema_of<BidAnswer>();
    out["Reservation"] = schema_of<ReservationAnswer>();
    out["BidsExplanation"] = schema_of<BidsExplanation>();
    out["TaskExplanation"] = schema_of<TaskExplanation>();
    out["TxExplanation"] = schema_of<TxExplanation>();
    out["Audit"] = schema_of<market::Audit>();
    out["AuditPage"] = schema_of<Page<market::Audit>>();
    out["Dispute"] = schema_of<DisputeAnswer>();
    out["DisputePage"] = schema_of<Page<market::Dispute>>();
    out["Report"] = schema_of<market::Report>();
    out["ReportPage"] = schema_of<Page<market::Report>>();
    out["Retention"] = schema_of<market::Retention>();
    out["RetentionPage"] = schema_of<Page<market::Retention>>();
    out["Party"] = schema_of<PartyAnswer>();
    out["Verifier"] = schema_of<VerifierAnswer>();
    out["Solver"] = schema_of<SolverAnswer>();
    out["Beacon"] = schema_of<BeaconAnswer>();
}

}  // namespace

json::object schema_named(std::string_view type) {
    if (type.ends_with('?')) return nullable_schema(schema_named(type.substr(0, type.size() - 1)));
    if (type.ends_with("[]")) return {{"type", "array"}, {"items", schema_named(type.substr(0, type.size() - 2))}};
    return schema_ref(type);
}

json::object schemas() {
    json::object out;
    add_values(out);
    add_blocks(out);
    add_parameters(out);
    add_node(out);
    add_market(out);
    return out;
}

}  // namespace retrace::node::rpc
