// SPDX-License-Identifier: MIT
// Where each record lies: one tag byte, then big-endian numbers and addresses. SPEC 6.2. Tags are never reused.
#pragma once

#include "contracts/calls/addresses.hpp"
#include "merkle/base/bytes.hpp"

namespace retrace::contracts::keys {

using ledger::Address;

struct Key {
    Contract contract;
    Bytes bytes;
};

Key params();
Key due_count(std::uint64_t height);         ///< How much happens by itself at a height,
Key due_page(std::uint64_t height, std::uint64_t page);    ///< and what.
Key due_cursor();                            ///< How far it is done; only while some of it is late.
Key reminder(std::uint8_t kind, std::uint64_t id, std::uint32_t run);   ///< Height of the next one of this kind.
Key task_count();
Key active_tasks();
Key spec(std::uint64_t task);
Key task(std::uint64_t task);
Key bid(std::uint64_t task, const Address& bidder);
Key run(std::uint64_t task, std::uint32_t run);
Key checkpoint(std::uint64_t task, std::uint32_t run, std::uint64_t index);
Key segment(std::uint64_t task, std::uint32_t run, std::uint64_t index);
Key open_runs(const Address& party);
Key open_bids(const Address& party);         ///< How many, over all tasks.

Key stake(const Address& party);
Key solver(const Address& party);
Key verifier(const Address& party);
Key verifiers();
Key beacon();
Key reveals();                               ///< That made the beacon: they draw the segments.
Key solvers();                               ///< Who may be challenged.
Key challenge_count();
Key challenge(std::uint64_t challenge);
Key backlog(const Address& party);           ///< Machine time that it was given.

Key audit_count();
Key audit(std::uint64_t audit);
Key had_members(std::uint64_t audit);        ///< 1: as many as it wants could be drawn once (14.12.1).
Key audit_queue();                           ///< Audits that wait for auditors: the first, and the end,
Key queued_audit(std::uint64_t place);       ///< and who stands where.
Key open_audits(const Address& party);
Key run_audits(std::uint64_t task, std::uint32_t run);     ///< Audits of a run that are not closed.
Key waiting_audits(std::uint64_t task, std::uint32_t run); ///< Segments of a run whose audits wait for auditors.
Key seated_audits(std::uint64_t task, std::uint32_t run);  ///< How many of a run have auditors that have yet to say.
Key report_count();
Key report(std::uint64_t report);
Key open_reports(std::uint64_t task);
/// Reports of this kind that are open about this state, program or data set of a run.
Key reports_about(std::uint64_t task, std::uint32_t run, std::uint8_t kind, std::uint64_t index);
/// What a party reported of a run, of program and data or of one state, and waits for.
Key awaited(std::uint64_t task, std::uint32_t run, const Address& reporter);
Key awaited_state(std::uint64_t task, std::uint32_t run, std::uint64_t index, const Address& reporter);
Key retention_count();
Key retention(std::uint64_t retention);
Key open_retentions(std::uint64_t task);
Key run_retentions(std::uint64_t task, std::uint32_t run);
Key state_retention(std::uint64_t task, std::uint32_t run, std::uint64_t index);   ///< The open offer for a state.
Key kept_tasks(const Address& party);        ///< Tasks of which it keeps states, some of them over.

Key dispute_count();
Key dispute(std::uint64_t dispute);
Key game(std::uint64_t dispute);
Key open_disputes(const Address& party);     ///< That it opened.
/// Those of them about one run, and the one of a kind about one segment. Between replicas: kind replica, segment 0.
Key accusations(std::uint64_t task, std::uint32_t run, const Address& party);
Key accusation(std::uint8_t kind, std::uint64_t task, std::uint32_t run, std::uint64_t segment, const Address& party);
Key run_disputes(std::uint64_t task, std::uint32_t run);   ///< Disputes of a run that are open.

Key held(Contract contract);                 ///< Coins that its records account for.

}  // namespace retrace::contracts::keys
