// SPDX-License-Identifier: MIT
#include "contracts/calls/call_status.hpp"

namespace retrace::contracts {
namespace {

struct Words {
    CallStatus status;
    std::string_view slug, sentence;
};
using enum CallStatus;
constexpr Words kWords[] = {
    {ok, "ok", "accepted"},
    {unknown_method, "unknown_method", "the contract has no method with this selector"},
    {bad_arguments, "bad_arguments", "the arguments are not their canonical ABI encoding"},
    {not_payable, "not_payable", "this method takes no value"},
    {name_too_long, "name_too_long", "a task name has at most 64 bytes"},
    {program_missing, "program_missing", "program root and length must be given"},
    {initial_state_unclear, "initial_state_unclear", "exactly one of initialiser and initial state must be given"},
    {too_many_data_roots, "too_many_data_roots", "a task names at most 4 data roots"},
    {steps_out_of_range, "steps_out_of_range", "steps must be between 1 and 2^40"},
    {interval_out_of_range, "interval_out_of_range",
     "the checkpoint interval must be between 1 and the number of steps"},
    {too_many_segments, "too_many_segments", "a task has at most 1,000,000 segments"},
    {price_zero, "price_zero", "the price must be more than zero"},
    {price_too_high, "price_too_high", "a price must be below 2^128"},
    {audit_share_out_of_range, "audit_share_out_of_range",
     "the audit probability must be between 1 and 10,000 basis points"},
    {auditors_out_of_range, "auditors_out_of_range", "between 1 and 5 auditors check a segment"},
    {replicas_out_of_range, "replicas_out_of_range", "between 1 and 5 replicas run a task"},
    {duration_out_of_range, "duration_out_of_range", "a duration is zero or over 10^9 blocks"},
    {endpoint_too_long, "endpoint_too_long", "an endpoint has between 1 and 256 bytes"},
    {amount_zero, "amount_zero", "the amount must be more than zero"},
    {commitment_zero, "commitment_zero", "a commitment, a chain head and a root are not zero"},
    {count_mismatch, "count_mismatch", "lists must be of the same length, between 1 and 256"},
    {bad_kind, "bad_kind", "there is no such kind"},
    {bad_move, "bad_move", "the move does not decode"},
    {rounds_out_of_range, "rounds_out_of_range", "a benchmark run has between 1 and 2^24 rounds"},
    {bad_capability_proof, "bad_capability_proof", "the proof of the benchmark run does not decode"},
    {bad_validator_key, "bad_validator_key", "a VRF key has 33 bytes, its proof 81, and a signature 64"},
    {unknown_task, "unknown_task", "there is no such task"},
    {wrong_task_state, "wrong_task_state", "the task is in another state"},
    {not_requester, "not_requester", "only the requester may do this"},
    {not_solver, "not_solver", "only the solver of the run may do this"},
    {unknown_run, "unknown_run", "there is no such run"},
    {wrong_run_state, "wrong_run_state", "the run is in another state"},
    {too_early, "too_early", "this is not due yet"},
    {too_late, "too_late", "the deadline of this call has passed"},
    {wrong_value, "wrong_value", "the value sent is not the amount that this method requires"},
    {balance_too_low, "balance_too_low", "the sender's balance is below the value of the call"},
    {stake_too_low, "stake_too_low", "the sender's stake, or the free part of it, is too low; deposit more stake"},
    {not_registered, "not_registered", "the sender is not registered; register first"},
    {wrong_hardware, "wrong_hardware", "the task asks for another hardware class"},
    {price_over_ceiling, "price_over_ceiling", "the price is over the ceiling"},
    {finish_out_of_range, "finish_out_of_range",
     "the finishing height is not after the auction or too late for the task"},
    {already_bid, "already_bid",
     "this auction has a bid of the sender, or an auction for more replicas is open already"},
    {not_bid, "not_bid", "this auction has no bid of the sender"},
    {wrong_opening, "wrong_opening", "salt and value do not open the commitment"},
    {already_revealed, "already_revealed", "it was revealed before"},
    {excluded, "excluded", "the sender left or lost this task before"},
    {own_task, "own_task", "requesters do not bid on their own tasks"},
    {auction_full, "auction_full", "the auction has as many bids as it takes"},
    {wrong_index, "wrong_index", "another index is due"},
    {not_committed, "not_committed", "this state or verdict was not committed"},
    {would_leak, "would_leak", "opening it now would leak an audit's answer"},
    {already_opened, "already_opened", "it was opened before"},
    {unknown_audit, "unknown_audit", "there is no such audit"},
    {wrong_phase, "wrong_phase", "the audit is in another phase"},
    {not_auditor, "not_auditor", "the sender has no seat in this audit"},
    {already_committed, "already_committed", "the sender has committed before"},
    {not_opened, "not_opened", "the state is not opened yet"},
    {window_closed, "window_closed", "the challenge window is not open"},
    {own_run, "own_run", "solvers do not dispute their own task's runs"},
    {same_root, "same_root", "that is the root that the solver posted"},
    {too_many_open, "too_many_open",
     "too many records of this kind are open, or the run has waited too long for auditors"},
    {unknown_dispute, "unknown_dispute", "there is no such open dispute"},
    {not_party, "not_party", "the sender is no party of this dispute"},
    {unknown_report, "unknown_report", "there is no such report"},
    {nothing_unbonded, "nothing_unbonded", "nothing is unbonding"},
    {still_unbonding, "still_unbonding", "unbonding is not over"},
    {verifiers_full, "verifiers_full",
     "the lists of verifiers and candidates are full; bond more than the candidate with the least stake"},
    {not_member, "not_member", "the sender is not a member of the beacon"},
    {reveal_done, "reveal_done", "the sender has revealed in this epoch"},
    {wrong_preimage, "wrong_preimage", "that is not the preimage of the registered head"},
    {reveal_not_due, "reveal_not_due", "reveals are due from the epoch after the registration"},
    {wrong_contract, "wrong_contract", "the task names another kernel contract"},
    {no_stake_suffices, "no_stake_suffices", "with these audits no stake makes honesty the best strategy"},
    {not_matched, "not_matched",
     "the sender's verdict did not match in the newest audit of this segment, and no offer for this state is open"},
    {too_many_tasks, "too_many_tasks", "too many tasks are open"},
    {reveal_due, "reveal_due", "reveal in this epoch first"},
    {already_attested, "already_attested", "the sender has attested before"},
    {already_answered, "already_answered", "the report is closed"},
    {wrong_answer, "wrong_answer", "the answer does not prove the reported tile"},
    {nothing_to_report, "nothing_to_report", "there is no such tile or kept state, or it cannot be reported now"},
    {not_seeded, "not_seeded", "the initial state is given, not seeded"},
    {replay_too_long, "replay_too_long", "the replay allowance outlasts unbonding"},
    {rounds_used_up, "rounds_used_up", "the task has had all its auctions"},
    {already_running, "already_running", "the sender runs this task already"},
    {not_more_replicas, "not_more_replicas", "the task has that many replicas already; ask for more"},
    {already_requested, "already_requested", "this state is kept, or its keeping was asked for, already"},
    {not_keeper, "not_keeper", "the sender does not keep this state"},
    {unknown_challenge, "unknown_challenge", "there is no such challenge"},
    {not_challenged, "not_challenged", "the challenge is another solver's"},
    {wrong_challenge_state, "wrong_challenge_state", "the challenge waits for something else, or is over"},
    {wrong_capability_proof, "wrong_capability_proof",
     "the proof does not show the drawn elements of the claimed benchmark run"},
    {solvers_full, "solvers_full", "the list of solvers is full"},
    {task_frozen, "task_frozen", "the task is frozen after a fault of the rules, until it is released"},
    {nothing_waits, "nothing_waits", "no audit of this run waits for auditors"},
    {dispute_open, "dispute_open", "a dispute or a challenge window of this run is open; try again later"},
    {set_closed, "set_closed", "the chain's validators are those of its genesis"},
    {key_taken, "key_taken", "this key was registered before; make a new one"},
    {wrong_key_proof, "wrong_key_proof", "signature or VRF proof do not show that the sender has the keys"},
    {double_signed, "double_signed", "the validator signed two blocks of one height and is out for ever"},
    {not_jailed, "not_jailed", "the validator is not jailed"},
    {still_jailed, "still_jailed", "the validator's time in jail is not over"},
    {validators_full, "validators_full", "200 validators with more power have or await a place; bond more stake"},
    {not_in_set, "not_in_set", "only members of the set of validators vote"},
    {wrong_version, "wrong_version", "rules are upgraded one version at a time"},
    {wrong_height, "wrong_height", "an upgrade is at the first block of an epoch, more than an epoch ahead"},
    {move_not_your_turn, "move_not_your_turn", "the other side has to move"},
    {move_wrong_move, "move_wrong_move", "another kind of move is due"},
    {move_decided, "move_decided", "the game is decided"},
    {move_wrong_count, "move_wrong_count", "another number of hashes is due"},
    {move_out_of_range, "move_out_of_range", "the index is out of range"},
    {move_wrong_children, "move_wrong_children", "the children do not hash to their parent"},
    {move_bad_proof, "move_bad_proof", "a proof does not verify"},
    {move_wrong_opening, "move_wrong_opening", "the opening is not what the hash commits to"},
    {move_missing_input, "move_missing_input", "an input of the element is missing"},
    {move_too_large, "move_too_large", "the evidence is over 96 KiB"},
    {move_wrong_leaf, "move_wrong_leaf", "the leaf is another one"},
    {out_of_gas, "out_of_gas", "the gas limit is below what the method costs"},
    {rules_broken, "rules_broken", "a fault of the rules: the call would break an invariant; please report it"},
};

const Words* words_of(CallStatus status) noexcept {
    for (const Words& words : kWords)
        if (words.status == status) return &words;
    return nullptr;
}

}  // namespace

std::string_view slug(CallStatus status) noexcept {
    const Words* words = words_of(status);
    return words ? words->slug : "unknown";
}

std::string reason(CallStatus status) {
    const Words* words = words_of(status);
    return words ? std::string(words->slug) + ": " + std::string(words->sentence) : "unknown";
}

}  // namespace retrace::contracts
