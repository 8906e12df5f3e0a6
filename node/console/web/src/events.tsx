// SPDX-License-Identifier: MIT
// Events of the market as sentences.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count, many, num, tame, words } from "./format";
import { Address, Coins, TaskLink } from "./parts";
import type { Json, TaskEvent } from "./rpc";

type Arguments = { [name: string]: Json };

const kTaskStates = [
    "", "posted", "bidding", "assigned", "running", "delivering", "settled", "cancelled", "expired", "forfeited", "frozen",
    "released",
];
const kReservationStates = ["", "offered", "accepted", "begun", "honoured", "broken", "unused", "lapsed", "withdrawn", "released"];
const kAuditPhases = ["", "waiting for auditors", "the start is to be opened", "verdicts are collected", "auditors are drawn",
    "the end is to be opened", "verdicts are revealed", "closed", "no auditor could be drawn"];
export const kDisputePhases = ["", "search_steps", "open_state", "descend_state", "open_trace", "descend_trace", "open_tensor",
    "descend_tiles", "search_links", "open_tile", "name_element", "prove_element", "decided"];

const party = (value: Json | undefined) => <Address of={String(value ?? "")} />;
const money = (value: Json | undefined) => <Coins of={value} />;
const segment = (a: Arguments) => `segment ${num(a.segment)} of run ${num(a.run)}`;
const audit = (a: Arguments) => <a href={`#/audit/${num(a.audit)}`}>audit {num(a.audit)}</a>;
export const DisputeLink = ({ of }: { of: unknown }) => <a href={`#/dispute/${num(of)}`}>dispute {num(of)}</a>;

const kSentences: { [event: string]: (a: Arguments) => ComponentChildren } = {
    TaskPosted: (a) => <>posted by {party(a.requester)}: {many(a.segments, "segment")}, at most {money(a.priceCeiling)} each</>,
    TaskStateChanged: (a) => <>is {kTaskStates[num(a.to)] ?? `in state ${num(a.to)}`}</>,
    BidCommitted: (a) => <>{party(a.bidder)} makes a sealed bid</>,
    BidRevealed: (a) => <>{party(a.bidder)} reveals its bid: {money(a.price)} a segment, {money(a.locked)} at stake</>,
    BidForfeited: (a) => <>{party(a.bidder)} did not reveal its bid and loses {money(a.deposit)}</>,
    TaskAssigned: (a) => <>{party(a.solver)} wins run {num(a.run)} at {money(a.price)} a segment</>,
    DataAccepted: (a) => <>{party(a.solver)} has the data of run {num(a.run)}</>,
    CheckpointCommitted: (a) => <>checkpoint {num(a.index)} of run {num(a.run)} is committed</>,
    StateOpened: (a) => <>checkpoint {num(a.index)} of run {num(a.run)} is opened</>,
    SegmentDrawn: (a) => <>{segment(a)} is {a.audited ? "drawn for an audit" : "not drawn"}</>,
    SegmentVerified: (a) => <>{segment(a)} is verified{num(a.audit) ? <> by {audit(a)}</> : null}</>,
    SegmentsPaid: (a) => <>{party(a.solver)} is paid {money(a.amount)} for {many(a.count, "segment")} of run {num(a.run)}</>,
    RunEnded: (a) => <>run {num(a.run)} of {party(a.solver)} ended: {tame(words(a.reason))}</>,
    RunGivenBack: (a) => <>{party(a.solver)} gives run {num(a.run)} back at checkpoint {num(a.index)}</>,
    TaskToppedUp: (a) => <>at most {money(a.ceiling)} a segment from the next auction on; {num(a.auctions)} more auctions may follow ones without winners</>,
    ReservationChanged: (a) => <>reservation {num(a.reservation)} is {kReservationStates[num(a.state)] ?? `in state ${num(a.state)}`}</>,
    PlacePaid: (a) => <>{party(a.party)} burns {money(a.amount)} for its place, or for the stake that bids of a cancelled task locked</>,
    EscrowReturned: (a) => <>{money(a.amount)} of the escrow went back to {party(a.requester)}</>,
    ReplicasWanted: (a) => <>{num(a.wanted)} more replicas are wanted</>,
    AuditorsDrawn: (a) => <>{audit(a)} of {segment(a)} has {Array.isArray(a.auditors) ? a.auditors.length : 0} auditors</>,
    AuditPhaseChanged: (a) => <>{audit(a)}: {kAuditPhases[num(a.phase)] ?? `phase ${num(a.phase)}`}</>,
    VerdictCommitted: (a) => <>{party(a.auditor)} has a verdict in {audit(a)}</>,
    VerdictRevealed: (a) => <>{party(a.auditor)} got {a.matches ? "the same" : "other"} bits in {audit(a)}</>,
    AuditPaid: (a) => <>{party(a.auditor)} is paid {money(a.amount)} for {audit(a)}</>,
    RetentionAttested: (a) => <>{party(a.keeper)} keeps checkpoint {num(a.index)} of run {num(a.run)}</>,
    DisputeOpened: (a) => <><DisputeLink of={a.dispute} /> of {segment(a)}: {party(a.challenger)} against {party(a.solver)}</>,
    DisputeMoved: (a) => <><DisputeLink of={a.dispute} />: round {num(a.rounds)}, {words(kDisputePhases[num(a.phase)])}</>,
    DisputeDecided: (a) => <><DisputeLink of={a.dispute} /> is decided after {num(a.rounds)} rounds: {party(a.loser)} lost</>,
    Slashed: (a) => <>{party(a.party)} loses {money(a.amount)} ({tame(words(a.reason))})</>,
    ReportOpened: (a) => <>tile {num(a.tile)} of tensor {num(a.tensor)} is reported as not served</>,
    ReportClosed: (a) => <>report {num(a.report)} was {a.answered ? "answered" : "not answered"}</>,
    MemberJoined: (a) => <>{party(a.solver)} joins the group as run {num(a.run)}</>,
    MemberLeaves: (a) => <>run {num(a.run)} leaves the group</>,
    GroupRolledBack: (a) => <>the group goes back to round {num(a.first)} without the message of run {num(a.run)}</>,
    UndoneRepaid: (a) => <>the lock of run {num(a.run)} repays {party(a.requester)} {money(a.amount)}</>,
    RoundPhaseChanged: (a) => <>round {num(a.round)} of the group goes on</>,
    RoundClosed: (a) => <>round {num(a.round)} of the group is closed: {num(a.recorded)} messages</>,
};

/** What happened; an event that this page does not know is named as it is. */
export function Sentence({ of, task }: { of: TaskEvent; task?: boolean }) {
    const sentence = kSentences[of.event];
    return (
        <>
            {task && (
                <>
                    <TaskLink of={of.task} />{" "}
                </>
            )}
            {sentence ? sentence(of.arguments) : tame(of.event)}
        </>
    );
}

const kShown = 500;

export function EventList({ events, task, label }: { events: TaskEvent[]; task?: boolean; label: string }) {
    const [shown, setShown] = useState(kShown);
    return (
        <div class="scroll log" tabIndex={0} role="group" aria-label={label}>
            <ol>
                {events.slice(0, shown).map((event) => (
                    <li key={`${event.blockHash}${event.logIndex}`}>
                        <a class="num" href={`#/block/${num(event.height)}`}>
                            {count(event.height)}
                        </a>
                        <span>
                            <Sentence of={event} task={task} />
                        </span>
                    </li>
                ))}
            </ol>
            {events.length > shown && (
                <button type="button" onClick={() => setShown(shown + kShown)}>
                    Show {many(Math.min(kShown, events.length - shown), "more event")}
                </button>
            )}
        </div>
    );
}
