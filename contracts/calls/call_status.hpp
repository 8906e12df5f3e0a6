// SPDX-License-Identifier: MIT
// Reasons for refusing a call. SPEC 7. Numbers are never reused: 1xx permanently malformed, 2xx not now, 3xx out of
// gas, 4xx a fault of the rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace retrace::contracts {

enum class CallStatus : std::uint16_t {
    ok = 0,

    unknown_method = 101,
    bad_arguments = 102,
    not_payable = 103,
    name_too_long = 110,
    program_missing = 111,
    initial_state_unclear = 112,
    too_many_data_roots = 113,
    steps_out_of_range = 114,
    interval_out_of_range = 115,
    too_many_segments = 116,
    price_zero = 117,
    price_too_high = 118,
    audit_share_out_of_range = 119,
    auditors_out_of_range = 120,
    replicas_out_of_range = 121,
    duration_out_of_range = 122,
    endpoint_too_long = 123,
    amount_zero = 124,
    commitment_zero = 125,
    count_mismatch = 126,
    bad_kind = 127,
    bad_move = 128,
    rounds_out_of_range = 129,
    bad_capability_proof = 130,
    bad_validator_key = 131,

    unknown_task = 201,
    wrong_task_state = 202,
    not_requester = 203,
    not_solver = 204,
    unknown_run = 205,
    wrong_run_state = 206,
    too_early = 207,
    too_late = 208,
    wrong_value = 209,
    balance_too_low = 210,
    stake_too_low = 211,
    not_registered = 212,
    wrong_hardware = 213,
    price_over_ceiling = 214,
    finish_out_of_range = 215,
    already_bid = 216,
    not_bid = 217,
    wrong_opening = 218,
    already_revealed = 219,
    excluded = 220,
    own_task = 221,
    auction_full = 222,
    wrong_index = 223,
    not_committed = 224,
    would_leak = 225,
    already_opened = 226,
    unknown_audit = 227,
    wrong_phase = 228,
    not_auditor = 229,
    already_committed = 230,
    not_opened = 231,
    window_closed = 232,
    own_run = 233,
    same_root = 234,
    too_many_open = 235,
    unknown_dispute = 236,
    not_party = 237,
    unknown_report = 238,
    nothing_unbonded = 239,
    still_unbonding = 240,
    verifiers_full = 241,
    not_member = 242,
    reveal_done = 243,
    wrong_preimage = 244,
    reveal_not_due = 245,
    wrong_contract = 246,
    no_stake_suffices = 247,
    not_matched = 248,
    too_many_tasks = 249,
    reveal_due = 250,
    already_attested = 251,
    already_answered = 252,
    wrong_answer = 253,
    nothing_to_report = 254,
    not_seeded = 255,
    replay_too_long = 256,
    rounds_used_up = 257,
    already_running = 258,
    not_more_replicas = 259,

    // 260 + verifier::MoveError
    move_not_your_turn = 261,
    move_wrong_move = 262,
    move_decided = 263,
    move_wrong_count = 264,
    move_out_of_range = 265,
    move_wrong_children = 266,
    move_bad_proof = 267,
    move_wrong_opening = 268,
    move_missing_input = 269,
    move_too_large = 270,
    move_wrong_leaf = 271,

    already_requested = 272,
    not_keeper = 273,

    unknown_challenge = 274,
    not_challenged = 275,
    wrong_challenge_state = 276,
    wrong_capability_proof = 277,
    solvers_full = 278,  // no longer given (10.4.3)
    task_frozen = 290,
    not_in_set = 291,
    wrong_version = 292,
    wrong_height = 293,

    nothing_waits = 281,
    dispute_open = 282,

    set_closed = 283,
    key_taken = 284,
    wrong_key_proof = 285,
    double_signed = 286,
    not_jailed = 287,
    still_jailed = 288,
    validators_full = 289,

    out_of_gas = 301,

    rules_broken = 401,  ///< A fault of the rules themselves, not of the call.
};

std::string_view slug(CallStatus status) noexcept;
/// "slug: sentence".
std::string reason(CallStatus status);

}  // namespace retrace::contracts
