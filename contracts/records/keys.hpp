// SPDX-License-Identifier: MIT
// The storage key of each record: one tag byte, then big-endian numbers and addresses. SPEC 6.2. Tags are never reused.
#pragma once

#include "contracts/calls/addresses.hpp"
#include "ledger/exec/validator.hpp"
#include "merkle/base/bytes.hpp"

namespace retrace::contracts::keys {

using ledger::Address;

struct Key {
    Contract contract;
    Bytes bytes;
};

Key params();
Key due_count(std::uint64_t height);                     ///< Number of items scheduled at a height,
Key due_page(std::uint64_t height, std::uint64_t page);  ///< and one page of them.
Key due_cursor();                                        ///< Next item to handle; only while some are late.
Key scheduled_height(std::uint8_t kind, std::uint64_t id, std::uint32_t run);  ///< Height of the next one of this kind.
Key task_count();
Key active_tasks();
Key spec(std::uint64_t task);
Key task(std::uint64_t task);
Key bid(std::uint64_t task, const Address& bidder);
Key run(std::uint64_t task, std::uint32_t run);
Key checkpoint(std::uint64_t task, std::uint32_t run, std::uint64_t index);
Key segment(std::uint64_t task, std::uint32_t run, std::uint64_t index);
Key open_runs(const Address& party);
Key open_bids(const Address& party);  ///< Number over all tasks.
/// Total work (Backlog::total) of a bidder when it bid, and of a run's solver when the run's deadline was last set or
/// moved (18.4).
Key bid_work(std::uint64_t task, const Address& bidder);
Key deadline_work(std::uint64_t task, std::uint32_t run);
Key given_back(std::uint64_t task,
               std::uint32_t run);  ///< Counter: from when the last auditors have time to attest; 0: not yet (13.12).
                                    ///< It stays when the run ends so.
Key stopped(std::uint64_t task, std::uint32_t run);  ///< Stop: when the run stopped, and whether it was late (13.7.1).
/// The run that reached the state at which a run started, at which the task resumes, and at which the replicas of the
/// open raise will start (13.7.1): its index plus one; 0: none, at state 0.
Key started_from(std::uint64_t task, std::uint32_t run);
Key resumes_from(std::uint64_t task);
Key raise_from(std::uint64_t task);
Key begun_deadline(std::uint64_t task, std::uint32_t run);  ///< The run's deadline as it was set, before it moved.

Key stake(const Address& party);
Key solver(const Address& party);
Key verifier(const Address& party);
Key verifiers();
Key candidates();  ///< Parties that wait for a place among the verifiers (11.8).
Key beacon();
Key mixed_epoch(std::uint64_t epoch);  ///< Its beacon and reveals, until the draws by them are made.
Key solvers();                         ///< Solvers that may be challenged.
Key challenge_count();
Key challenge(std::uint64_t challenge);
Key backlog(const Address& party);       ///< Machine time assigned to the party.
Key beacon_shares(std::uint64_t epoch);  ///< Digest of the validators' shares, until the epoch is mixed (20.8).

Key validator_rules();
Key validator(const Address& account);
Key validator_set();
Key validator_growth();      ///< What the last election added, by account.
Key validator_candidates();  ///< Validators with power, in the set or waiting for a place.
Key upgrade();
Key registered_key(const ledger::ConsensusAddress& address);

Key audit_count();
Key audit(std::uint64_t audit);
Key had_members(std::uint64_t audit);    ///< 1: as many auditors as the task wants could once be drawn (14.12.1).
Key cleared_seats(std::uint64_t audit);  ///< DrawnSeats: how many seats were given up in waits for auditors (14.12.1).
Key matched_audits(std::uint64_t task);  ///< Audits of a task that ended lately with a match (13.6).
Key audit_queue();                       ///< Queue of audits that wait for auditors: its first and end place,
Key queued_audit(std::uint64_t place);   ///< and the audit at each place.
/// Audited segments of a run: the number drawn and finalised, the number drawn before one, and those that wait for
/// the lock to cover their fees (14.13).
Key audited_segments(std::uint64_t task, std::uint32_t run);
Key finalised_audits(std::uint64_t task, std::uint32_t run);
Key audited_before(std::uint64_t task, std::uint32_t run, std::uint64_t segment);
Key held_audits(std::uint64_t task, std::uint32_t run);
Key open_audits(const Address& party);
Key run_audits(std::uint64_t task, std::uint32_t run);      ///< Audits of a run that are not closed.
Key waiting_audits(std::uint64_t task, std::uint32_t run);  ///< Segments of a run whose audits wait for auditors.
Key seated_audits(std::uint64_t task, std::uint32_t run);   ///< Number of a run's audits that await reveals (14.12.5),
Key due_audits(std::uint64_t task, std::uint32_t run);      ///< and of those among them that end by themselves.
Key pending_draws(std::uint64_t task, std::uint32_t run);   ///< Number of a run's segments that wait for their draw.
Key woken(std::uint64_t task, std::uint32_t run);  ///< Height at which states withheld by the run were woken last.
Key due_openings(std::uint64_t task, std::uint32_t run);  ///< Number of a run's states whose opening (13.9) is due.
Key late_challenge(std::uint64_t dispute);  ///< Next state of the run when a late challenge of it opened (15.10).
Key windows_until(std::uint64_t task, std::uint32_t run);  ///< End of the last challenge window that began for a run.
/// Newest state up to which a run was paid although an earlier state of it counts as wrong (13.7.1).
Key paid_wrong(std::uint64_t task);
Key convictions(std::uint64_t task);  ///< Each run of the task that was convicted, with the segment (13.7.1).
Key paid_audits(std::uint64_t task, std::uint32_t run);  ///< Waiting segments that the requester pays for (14.12.4).
Key report_count();
Key report(std::uint64_t report);
Key open_reports(std::uint64_t task);
/// Reports of this kind that are open about this state, program or data set of a run.
Key reports_about(std::uint64_t task, std::uint32_t run, std::uint8_t kind, std::uint64_t index);
/// Reports of a party about a run that await an answer: about program and data, and about one state.
Key awaited(std::uint64_t task, std::uint32_t run, const Address& reporter);
Key awaited_state(std::uint64_t task, std::uint32_t run, std::uint64_t index, const Address& reporter);
Key retention_count();
Key retention(std::uint64_t retention);
Key open_retentions(std::uint64_t task);
Key run_retentions(std::uint64_t task, std::uint32_t run);
Key state_retention(std::uint64_t task, std::uint32_t run, std::uint64_t index);  ///< The open offer for a state.
Key kept_tasks(const Address& party);  ///< Tasks of which the party keeps states, some of them over.

Key dispute_count();
Key dispute(std::uint64_t dispute);
Key game(std::uint64_t dispute);
Key open_disputes(const Address& party);  ///< Disputes that the party opened.
/// Those about one run, and the one of a kind about one segment. Disputes between replicas have kind replica
/// and segment 0.
Key accusations(std::uint64_t task, std::uint32_t run, const Address& party);
Key accusation(std::uint8_t kind, std::uint64_t task, std::uint32_t run, std::uint64_t segment, const Address& party);
Key run_disputes(std::uint64_t task, std::uint32_t run);  ///< Disputes of a run that are open.

Key group_spec(std::uint64_t task);
Key group(std::uint64_t task);
Key member(std::uint64_t task, std::uint32_t run);
Key member_segment(std::uint64_t task, std::uint32_t run, std::uint64_t index);
Key round(std::uint64_t task, std::uint32_t round);  ///< Once it is closed.
Key round_message(std::uint64_t task, std::uint32_t round, std::uint32_t run);
Key holding(std::uint64_t task, std::uint32_t round, std::uint32_t run);
Key round_masks(std::uint64_t task, std::uint32_t round);
Key member_masks(std::uint64_t task, std::uint32_t round, std::uint32_t run);
Key admitted(std::uint64_t task);                    ///< Accounts that may take part in a private group (21.13).
Key consent(std::uint64_t task, std::uint32_t run);  ///< market::Consent
Key shared_openings(std::uint64_t task, std::uint32_t base);  ///< Opened ends of segments with this base (21.8).
Key rollbacks(std::uint64_t task);
Key division(std::uint64_t task);
Key member_attempts(std::uint64_t task, std::uint32_t run);
Key late_openings(std::uint64_t task, std::uint32_t run);  ///< Height up to which 21.14.11 has counted.

Key held(Contract contract);  ///< Coins that the contract's records account for.

}  // namespace retrace::contracts::keys
