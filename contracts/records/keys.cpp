// SPDX-License-Identifier: MIT
#include "contracts/records/keys.hpp"

#include "contracts/records/auctions.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/standing.hpp"
#include "contracts/records/task_end.hpp"

namespace retrace::contracts::keys {
namespace {

class Builder {
public:
    Builder(Contract contract, char tag) : key_{contract, {static_cast<std::uint8_t>(tag)}} {}

    /// Big endian, so that keys sort by number.
    Builder& number(std::uint64_t value) {
        for (int shift = 56; shift >= 0; shift -= 8) key_.bytes.push_back(static_cast<std::uint8_t>(value >> shift));
        return *this;
    }
    Builder& party(const Address& address) { return raw(address.bytes); }
    Builder& raw(View bytes) {
        key_.bytes.insert(key_.bytes.end(), bytes.begin(), bytes.end());
        return *this;
    }
    operator Key() && { return std::move(key_); }

private:
    Key key_;
};

Builder staking(char tag) { return {Contract::staking, tag}; }
Builder market(char tag) { return {Contract::market, tag}; }
Builder audits(char tag) { return {Contract::audits, tag}; }
Builder disputes(char tag) { return {Contract::disputes, tag}; }
Builder validators(char tag) { return {Contract::validators, tag}; }
Builder groups(char tag) { return {Contract::groups, tag}; }

}  // namespace

Key params() { return market('P'); }
// Tag 'h' of the market contract is retired: it was a list of all items due at a height.
Key due_count(std::uint64_t height) { return std::move(market('d').number(height)); }
Key due_page(std::uint64_t height, std::uint64_t page) { return std::move(market('e').number(height).number(page)); }
Key due_cursor() { return market('f'); }
Key scheduled_height(std::uint8_t kind, std::uint64_t id, std::uint32_t run) {
    return std::move(market('w').number(kind).number(id).number(run));
}
Key task_count() { return market('n'); }
Key active_tasks() { return market('a'); }
Key open_tasks_page(std::uint64_t page) { return page == 0 ? active_tasks() : std::move(market('A').number(page)); }
Key place(std::uint64_t task) { return std::move(market('L').number(task)); }
Key spec(std::uint64_t task) { return std::move(market('s').number(task)); }
Key task(std::uint64_t task) { return std::move(market('t').number(task)); }
Key bid(std::uint64_t task, const Address& bidder) { return std::move(market('b').number(task).party(bidder)); }
Key run(std::uint64_t task, std::uint32_t run) { return std::move(market('r').number(task).number(run)); }
Key checkpoint(std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    return std::move(market('c').number(task).number(run).number(index));
}
Key segment(std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    return std::move(market('g').number(task).number(run).number(index));
}
Key open_runs(const Address& party) { return std::move(market('p').party(party)); }
Key open_bids(const Address& party) { return std::move(market('B').party(party)); }
Key bid_work(std::uint64_t task, const Address& bidder) { return std::move(market('W').number(task).party(bidder)); }
Key deadline_work(std::uint64_t task, std::uint32_t run) { return std::move(market('D').number(task).number(run)); }
Key begun_deadline(std::uint64_t task, std::uint32_t run) { return std::move(market('E').number(task).number(run)); }
Key started_from(std::uint64_t task, std::uint32_t run) { return std::move(market('O').number(task).number(run)); }
Key resumes_from(std::uint64_t task) { return std::move(market('R').number(task)); }
Key raise_from(std::uint64_t task) { return std::move(market('J').number(task)); }
Key auctions(std::uint64_t task) { return std::move(market('T').number(task)); }
Key run_ceiling(std::uint64_t task, std::uint32_t run) { return std::move(market('C').number(task).number(run)); }
Key task_end(std::uint64_t task) { return std::move(market('x').number(task)); }
Key given_back(std::uint64_t task, std::uint32_t run) { return std::move(market('G').number(task).number(run)); }
Key stopped(std::uint64_t task, std::uint32_t run) { return std::move(market('H').number(task).number(run)); }

Key reservation_count() { return market('N'); }
Key reservation(std::uint64_t reservation) { return std::move(market('V').number(reservation)); }
Key reserved_spec(std::uint64_t reservation) { return std::move(market('S').number(reservation)); }
Key reservations(const Address& party) { return std::move(market('v').party(party)); }
Key reserved_for(std::uint64_t task) { return std::move(market('U').number(task)); }

Key stake(const Address& party) { return std::move(staking('k').party(party)); }
Key standing(const Address& solver) { return std::move(staking('t').party(solver)); }
Key solver(const Address& party) { return std::move(staking('s').party(party)); }
Key verifier(const Address& party) { return std::move(staking('v').party(party)); }
Key verifiers() { return staking('m'); }
Key candidates() { return staking('q'); }
Key beacon() { return staking('b'); }
Key mixed_epoch(std::uint64_t epoch) { return std::move(staking('r').number(epoch)); }
Key solvers() { return staking('l'); }
Key challenge_count() { return staking('n'); }
Key challenge(std::uint64_t challenge) { return std::move(staking('c').number(challenge)); }
Key backlog(const Address& party) { return std::move(staking('w').party(party)); }
Key beacon_shares(std::uint64_t epoch) { return std::move(staking('x').number(epoch)); }

Key validator_rules() { return validators('P'); }
Key validator(const Address& account) { return std::move(validators('v').party(account)); }
Key validator_set() { return validators('s'); }
Key validator_growth() { return validators('g'); }
Key validator_candidates() { return validators('c'); }
Key upgrade() { return validators('u'); }
Key registered_key(const ledger::ConsensusAddress& address) { return std::move(validators('k').raw(address)); }

Key audit_count() { return audits('n'); }
Key audit(std::uint64_t audit) { return std::move(audits('a').number(audit)); }
Key had_members(std::uint64_t audit) { return std::move(audits('m').number(audit)); }
Key cleared_seats(std::uint64_t audit) { return std::move(audits('E').number(audit)); }
Key matched_audits(std::uint64_t task) { return std::move(audits('M').number(task)); }
Key audit_queue() { return audits('d'); }
Key queued_audit(std::uint64_t place) { return std::move(audits('e').number(place)); }
Key audited_segments(std::uint64_t task, std::uint32_t run) { return std::move(audits('G').number(task).number(run)); }
Key finalised_audits(std::uint64_t task, std::uint32_t run) { return std::move(audits('b').number(task).number(run)); }
Key audited_before(std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    return std::move(audits('g').number(task).number(run).number(segment));
}
Key held_audits(std::uint64_t task, std::uint32_t run) { return std::move(audits('H').number(task).number(run)); }
Key open_audits(const Address& party) { return std::move(audits('p').party(party)); }
Key run_audits(std::uint64_t task, std::uint32_t run) { return std::move(audits('r').number(task).number(run)); }
Key waiting_audits(std::uint64_t task, std::uint32_t run) { return std::move(audits('f').number(task).number(run)); }
Key seated_audits(std::uint64_t task, std::uint32_t run) { return std::move(audits('s').number(task).number(run)); }
Key due_audits(std::uint64_t task, std::uint32_t run) { return std::move(audits('t').number(task).number(run)); }
Key pending_draws(std::uint64_t task, std::uint32_t run) { return std::move(audits('P').number(task).number(run)); }
Key woken(std::uint64_t task, std::uint32_t run) { return std::move(audits('h').number(task).number(run)); }
Key due_openings(std::uint64_t task, std::uint32_t run) { return std::move(audits('N').number(task).number(run)); }
Key late_challenge(std::uint64_t dispute) { return std::move(audits('L').number(dispute)); }
Key windows_until(std::uint64_t task, std::uint32_t run) { return std::move(audits('U').number(task).number(run)); }
Key paid_wrong(std::uint64_t task) { return std::move(audits('X').number(task)); }
Key convictions(std::uint64_t task) { return std::move(audits('C').number(task)); }
Key paid_audits(std::uint64_t task, std::uint32_t run) { return std::move(audits('F').number(task).number(run)); }
Key report_count() { return audits('u'); }
Key report(std::uint64_t report) { return std::move(audits('w').number(report)); }
Key open_reports(std::uint64_t task) { return std::move(audits('q').number(task)); }
Key reports_about(std::uint64_t task, std::uint32_t run, std::uint8_t kind, std::uint64_t index) {
    return std::move(audits('i').number(task).number(run).number(kind).number(index));
}
Key awaited(std::uint64_t task, std::uint32_t run, const Address& reporter) {
    return std::move(audits('W').number(task).number(run).party(reporter));
}
Key awaited_state(std::uint64_t task, std::uint32_t run, std::uint64_t index, const Address& reporter) {
    return std::move(audits('I').number(task).number(run).number(index).party(reporter));
}
Key retention_count() { return audits('y'); }
Key retention(std::uint64_t retention) { return std::move(audits('z').number(retention)); }
Key open_retentions(std::uint64_t task) { return std::move(audits('o').number(task)); }
Key run_retentions(std::uint64_t task, std::uint32_t run) { return std::move(audits('R').number(task).number(run)); }
Key state_retention(std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    return std::move(audits('S').number(task).number(run).number(index));
}
Key kept_tasks(const Address& party) { return std::move(audits('k').party(party)); }

Key dispute_count() { return disputes('n'); }
Key dispute(std::uint64_t dispute) { return std::move(disputes('d').number(dispute)); }
Key game(std::uint64_t dispute) { return std::move(disputes('g').number(dispute)); }
Key open_disputes(const Address& party) { return std::move(disputes('p').party(party)); }
Key accusations(std::uint64_t task, std::uint32_t run, const Address& party) {
    return std::move(disputes('a').number(task).number(run).party(party));
}
Key accusation(std::uint8_t kind, std::uint64_t task, std::uint32_t run, std::uint64_t segment, const Address& party) {
    return std::move(disputes('c').number(kind).number(task).number(run).number(segment).party(party));
}
Key run_disputes(std::uint64_t task, std::uint32_t run) { return std::move(disputes('r').number(task).number(run)); }

Key group_spec(std::uint64_t task) { return std::move(groups('s').number(task)); }
Key group(std::uint64_t task) { return std::move(groups('g').number(task)); }
Key member(std::uint64_t task, std::uint32_t run) { return std::move(groups('m').number(task).number(run)); }
Key member_segment(std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    return std::move(groups('c').number(task).number(run).number(index));
}
Key round(std::uint64_t task, std::uint32_t round) { return std::move(groups('r').number(task).number(round)); }
Key round_message(std::uint64_t task, std::uint32_t round, std::uint32_t run) {
    return std::move(groups('t').number(task).number(round).number(run));
}
Key holding(std::uint64_t task, std::uint32_t round, std::uint32_t run) {
    return std::move(groups('h').number(task).number(round).number(run));
}
Key round_masks(std::uint64_t task, std::uint32_t round) { return std::move(groups('k').number(task).number(round)); }
Key member_masks(std::uint64_t task, std::uint32_t round, std::uint32_t run) {
    return std::move(groups('p').number(task).number(round).number(run));
}
Key admitted(std::uint64_t task) { return std::move(groups('a').number(task)); }
Key consent(std::uint64_t task, std::uint32_t run) { return std::move(groups('o').number(task).number(run)); }
Key shared_openings(std::uint64_t task, std::uint32_t base) { return std::move(groups('e').number(task).number(base)); }
Key division(std::uint64_t task) { return std::move(groups('v').number(task)); }
Key rollbacks(std::uint64_t task) { return std::move(groups('b').number(task)); }
Key member_attempts(std::uint64_t task, std::uint32_t run) { return std::move(groups('a').number(task).number(run)); }
Key late_openings(std::uint64_t task, std::uint32_t run) { return std::move(groups('l').number(task).number(run)); }

Key held(Contract contract) { return Builder(contract, '$'); }

}  // namespace retrace::contracts::keys
