// SPDX-License-Identifier: MIT
#include "node/server/methods/record_json.hpp"

namespace retrace::node::rpc {

std::string_view slug(market::SeatState state) noexcept {
    switch (state) {
        case market::SeatState::drawn: return "drawn";
        case market::SeatState::committed: return "committed";
        case market::SeatState::matched: return "matched";
        case market::SeatState::mismatched: return "mismatched";
        case market::SeatState::missed: return "missed";
        case market::SeatState::released: return "released";
    }
    return "unknown";
}

std::string_view slug(market::DisputeKind kind) noexcept {
    switch (kind) {
        case market::DisputeKind::audit: return "audit";
        case market::DisputeKind::challenge: return "challenge";
        case market::DisputeKind::initial: return "initial";
        case market::DisputeKind::replica: return "replica";
        case market::DisputeKind::replica_initial: return "replica_initial";
    }
    return "unknown";
}

std::string_view slug(market::ReportKind kind) noexcept {
    switch (kind) {
        case market::ReportKind::state: return "state";
        case market::ReportKind::program: return "program";
        case market::ReportKind::data: return "data";
        case market::ReportKind::model: return "model";
        case market::ReportKind::kept: return "kept";
        case market::ReportKind::message: return "message";
    }
    return "unknown";
}

std::string_view slug(market::ReportState state) noexcept {
    switch (state) {
        case market::ReportState::open: return "open";
        case market::ReportState::answered: return "answered";
        case market::ReportState::failed: return "failed";
    }
    return "unknown";
}

std::string_view slug(market::RetentionState state) noexcept {
    switch (state) {
        case market::RetentionState::open: return "open";
        case market::RetentionState::kept: return "kept";
        case market::RetentionState::withdrawn: return "withdrawn";
    }
    return "unknown";
}

json::object schema_ref(std::string_view name) { return {{"$ref", "#/components/schemas/" + std::string(name)}}; }

json::object nullable_schema(json::object schema) {
    return {{"oneOf", json::array{std::move(schema), json::object{{"type", "null"}}}}};
}

}  // namespace retrace::node::rpc
