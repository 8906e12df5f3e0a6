// SPDX-License-Identifier: MIT
// What went into a task's escrow and out of it, and what others lost because of it.
import { useEffect, useState } from "preact/hooks";
import { big, coins, count, hex, many, num, tame, words } from "../format";
import { Address, BlockLink, Coins } from "../parts";
import type { Task, Tx } from "../records";
import { node, type TaskEvent } from "../rpc";
import { LongTable } from "../windowed";

/** Of what an amount is: paid into the escrow, paid out of it, or neither. */
type Side = "in" | "out" | "other";

interface Entry {
    event: TaskEvent;
    what: string;
    who: string;
    side: Side;
    /** Wei; undefined: the value of the event's transaction. */
    amount?: unknown;
}

/** Each movement of coins that the events of a task tell, in their order. */
export function entriesOf(task: Task, events: TaskEvent[]): Entry[] {
    const out: Entry[] = [];
    const requester = task.task.requester.toLowerCase();
    for (const event of events) {
        const a = event.arguments;
        const add = (side: Side, what: string, who: unknown, amount?: unknown) => out.push({ event, what, who: String(who), side, amount });
        if (event.event === "TaskPosted") add("in", "put into escrow", a.requester);
        if (event.event === "ReplicasWanted") add("in", "put into escrow for more replicas", requester);
        if (event.event === "TaskToppedUp") add("in", "put into escrow for a higher ceiling or more auctions", requester);
        if (event.event === "MemberJoined") add("in", "put in for audits by a member", a.solver);
        if (event.event === "SegmentsPaid") add("out", `${many(a.count, "segment")} of run ${num(a.run)}`, a.solver, a.amount);
        if (event.event === "AuditPaid") add("out", `audit ${num(a.audit)}`, a.auditor, a.amount);
        if (event.event === "EscrowReturned") add("out", "escrow returned", a.requester, a.amount);
        if (event.event === "PlacePaid") add(String(a.party).toLowerCase() === requester ? "out" : "other", "burned for a place", a.party, a.amount);
        if (event.event === "Slashed") add("other", `loses stake: ${words(a.reason)}`, a.party, a.amount);
        if (event.event === "BidForfeited") add("other", "loses the deposit of a bid", a.bidder, a.deposit);
    }
    return out;
}

/** The coins that transactions carried, by hash; null: the node does not keep it. */
function useValues(hashes: string[]): Map<string, bigint | null> {
    const [values, setValues] = useState(new Map<string, bigint | null>());
    const key = hashes.join();
    useEffect(() => {
        let current = true;
        for (const hash of hashes)
            if (!values.has(hash))
                node.call<Tx | null>("eth_getTransactionByHash", [hash]).then(
                    (tx) => current && setValues((old) => new Map(old).set(hash, tx ? big(tx.value) : null)),
                    () => undefined,
                );
        return () => {
            current = false;
        };
    }, [key]);
    return values;
}

/** `from`: first block whose events are known, if the task is older; else 0. `pruned`: the node keeps no older ones. */
export function Money({ task, events, from, pruned }: { task: Task; events: TaskEvent[]; from: number; pruned: boolean }) {
    const entries = entriesOf(task, events);
    const values = useValues(entries.filter(({ amount }) => amount === undefined).map(({ event }) => event.transactionHash));
    const weiOf = ({ amount, event }: Entry) => (amount === undefined ? (values.get(event.transactionHash) ?? undefined) : big(amount));
    const sum = (side: Side) => entries.filter((one) => one.side === side).reduce((total, one) => total + (weiOf(one) ?? 0n), 0n);
    const held = big(task.task.escrow) + big(task.task.auditBudget);
    const isKnown = entries.every((one) => weiOf(one) !== undefined);
    const rest = sum("in") - sum("out") - held;
    return (
        <>
            <p class="caption">
                Now in escrow: <Coins of={task.task.escrow} />, for audits <Coins of={task.task.auditBudget} />.{" "}
                {from > 0
                    ? `What moved before block ${count(from)} is not known: ${pruned ? "this node keeps no older blocks" : "older blocks were not read"}.`
                    : isKnown && (
                          <>
                              Put in <Coins of={hex(sum("in"))} />, paid out <Coins of={hex(sum("out"))} />
                              {rest !== 0n && `; ${rest < 0n ? "−" : ""}${coins(hex(rest < 0n ? -rest : rest))} more is the deposit of its place or of a reservation: retrace task statement ${num(task.task.id)} has every line`}.
                          </>
                      )}
            </p>
            <LongTable
                label="Money"
                head={[["block", "num"], ["who"], ["for"], ["in", "num"], ["out", "num"], ["lost by others", "num"]]}
                empty={from > 0 ? "Nothing moved in the blocks that were read." : "Nothing was paid yet."}
                rows={entries}
                keyOf={(one) => `${one.event.blockHash}${one.event.logIndex}`}
                cells={(one) => {
                    const wei = weiOf(one);
                    const cell = (side: Side) => (side !== one.side ? "" : wei === undefined ? (values.has(one.event.transactionHash) ? "not kept" : "…") : <Coins of={hex(wei)} />);
                    return (
                        <>
                            <td class="num"><BlockLink of={one.event.height} /></td>
                            <td><Address of={one.who} /></td>
                            <td>{tame(one.what)}</td>
                            <td class="num">{cell("in")}</td>
                            <td class="num">{cell("out")}</td>
                            <td class="num">{cell("other")}</td>
                        </>
                    );
                }}
            />
        </>
    );
}
