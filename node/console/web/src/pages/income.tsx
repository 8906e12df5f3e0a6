// SPDX-License-Identifier: MIT
// The view of an operator on an account: what it has to do now and by when, what it earned and lost.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { contractNamed, eventOf } from "../abi";
import { Chart } from "../chart";
import { DisputeLink } from "../events";
import { coins, count, duration, hex, num, save, words } from "../format";
import { BlockLink, Coins, ErrorLine, Panel, State, Table, TaskLink, Tiles } from "../parts";
import type { Audit, Contract, DisputeAnswer, Log, Party, Task } from "../records";
import { node } from "../rpc";
import { LongTable } from "../windowed";

interface Duty {
    key: string;
    what: ComponentChildren;
    state: string;
    /** Height by which something is due; 0: nothing is. */
    due: number;
}

/** Records of each kind that are read, and duties that are shown, those that are due first. */
const kReadMax = 200;
const kDutiesMax = 60;

async function dutiesOf(party: Party): Promise<Duty[]> {
    const runs = party.openRuns.slice(0, kReadMax).map(async ({ task, run }): Promise<Duty> => {
        const answer = await node.call<Task | null>("retrace_task", [task]);
        const record = answer?.runs.find((one) => one.index === run);
        const next = record ? `, ${num(record.nextState) > num(answer?.segments) ? "all checkpoints are committed" : `checkpoint ${num(record.nextState)} comes next`}` : "";
        return { key: `run ${task} ${run}`, what: <>run {run} of <TaskLink of={task} />{next}</>, state: record?.state ?? "–", due: num(record?.deadline ?? 0) };
    });
    const audits = party.openAudits.slice(0, kReadMax).map(async (id): Promise<Duty> => {
        const audit = await node.call<Audit | null>("retrace_audit", [id]);
        const seat = audit?.seats.find((one) => one.auditor === party.address);
        return {
            key: `audit ${id}`,
            what: <><a href={`#/audit/${num(id)}`}>audit {num(id)}</a>{audit && <> of segment {num(audit.segment)} of <TaskLink of={audit.task} />, {words(audit.phase)}</>}</>,
            state: seat?.state ?? "–",
            due: num(audit?.deadline ?? 0),
        };
    });
    const disputes = party.openDisputes.slice(0, kReadMax).map(async (id): Promise<Duty> => {
        const answer = await node.call<DisputeAnswer | null>("retrace_dispute", [id]);
        const side = answer?.dispute.solver === party.address ? 1 : 2;
        const own = answer?.dispute.mover === side;
        return { key: `dispute ${id}`, what: <><DisputeLink of={id} />, {words(answer?.phase)}</>, state: own ? "to move" : "waits for the other side", due: own ? num(answer?.dispute.deadline ?? 0) : 0 };
    });
    const all = await Promise.all([...runs, ...audits, ...disputes]);
    return all.sort((a, b) => (a.due || Infinity) - (b.due || Infinity));
}

/** Runs, seats in audits and disputes that are open, the one that is due first on top. */
export function Duties({ party, height }: { party: Party; height: number }) {
    const [duties, setDuties] = useState<Duty[]>([]);
    const [error, setError] = useState("");
    const open = party.openRuns.length + party.openAudits.length + party.openDisputes.length;
    const key = open ? JSON.stringify([party.openRuns, party.openAudits, party.openDisputes, Math.floor(height / 3)]) : "";
    const [pace, setPace] = useState(NaN);
    useEffect(() => {
        let current = true;
        if (!key) setDuties([]);
        else
            dutiesOf(party).then(
                (list) => {
                    if (!current) return;
                    setDuties(list);
                    setError("");
                },
                (e: Error) => current && setError(e.message),
            );
        return () => {
            current = false;
        };
    }, [key]);
    useEffect(() => {
        if (!open || !(height > 20)) return;
        const stamp = (at: number) => node.call<{ timestamp: string }>("eth_getBlockByNumber", [hex(at), false]);
        Promise.all([stamp(height - 20), stamp(height)]).then(([a, b]) => setPace((num(b.timestamp) - num(a.timestamp)) / 20), () => undefined);
    }, [open > 0, Math.floor(height / 100)]);
    if (!open) return null;
    return (
        <Panel title="To do now" aside={`${open}`}>
            <ErrorLine text={error && `What is due is not known, or old: ${error}`} />
            {open > Math.min(duties.length, kDutiesMax) && duties.length > 0 && <p class="caption">The {count(Math.min(duties.length, kDutiesMax))} that are due first are shown.</p>}
            <Table label="To do now" head={[["what"], ["state"], ["due in block", "num"], ["left", "num"]]}>
                {duties.slice(0, kDutiesMax).map((one) => (
                    <tr key={one.key}>
                        <td>{one.what}</td>
                        <td><State of={one.state} /></td>
                        <td class="num">{one.due ? <BlockLink of={one.due} /> : "–"}</td>
                        <td class="num">{one.due ? `${count(Math.max(0, one.due - height))} blocks${Number.isFinite(pace) ? `, about ${duration((one.due - height) * pace)}` : ""}` : "–"}</td>
                    </tr>
                ))}
            </Table>
        </Panel>
    );
}

interface Entry {
    height: number;
    what: string;
    task: string;
    wei: bigint;
    hash: string;
}

/** Payments and losses of an account among events, in the order of the chain. */
export function entriesOf(contracts: Contract[], address: string, logs: Log[]): Entry[] {
    const out: Entry[] = [];
    const market = contractNamed(contracts, "IMarket");
    if (!market) return out;
    for (const log of logs) {
        const event = eventOf(contracts, log);
        if (!event) continue;
        const a = Object.fromEntries(event.arguments) as { [name: string]: unknown };
        const mine = (name: string) => String(a[name]).toLowerCase() === address.toLowerCase();
        const add = (what: string, amount: unknown, sign: 1n | -1n = 1n) =>
            out.push({ height: num(log.blockNumber), what, task: a.task === undefined ? "" : String(a.task), wei: sign * BigInt(String(amount)), hash: log.transactionHash });
        if (event.name === "SegmentsPaid" && mine("solver")) add(`${a.count} segments`, a.amount);
        if (event.name === "AuditPaid" && mine("auditor")) add(`audit ${a.audit}`, a.amount);
        if (event.name === "Slashed" && mine("party")) add(`slashed: ${words(a.reason)}`, a.amount, -1n);
        if (event.name === "PlacePaid" && mine("party")) add("burned for a place", a.amount, -1n);
        if (event.name === "BidForfeited" && mine("bidder")) add("deposit of a bid that was not revealed", a.deposit, -1n);
    }
    return out.sort((a, b) => a.height - b.height);
}

const signed = (wei: bigint) => (wei < 0n ? `−${coins(hex(-wei))}` : coins(hex(wei)));
/** All 18 decimals, for a program. */
const exact = (wei: bigint) => {
    const digits = (wei < 0n ? -wei : wei).toString().padStart(19, "0");
    return `${wei < 0n ? "-" : ""}${digits.slice(0, -18)}.${digits.slice(-18)}`;
};

export function Income({ contracts, address, logs, blocks }: { contracts: Contract[]; address: string; logs: Log[]; blocks: number }) {
    const entries = useMemo(() => entriesOf(contracts, address, logs), [contracts, address, logs]);
    const curve = useMemo(() => {
        let sum = 0n;
        return entries.map((one) => Number((sum += one.wei)) / 1e18);
    }, [entries]);
    if (entries.length === 0) return null;
    const sum = (fits: (entry: Entry) => boolean) => entries.filter(fits).reduce((total, one) => total + one.wei, 0n);
    const csv = () =>
        save(`income-${address}.csv`, ["block,transaction,task,for,coins", ...entries.map((one) => [one.height, one.hash, one.task, `"${one.what.replaceAll('"', '""')}"`, exact(one.wei)].join())].join("\n") + "\n");
    return (
        <Panel title="Income" aside={<button type="button" onClick={csv}>Save as CSV</button>}>
            <Tiles
                rows={[
                    ["earned", signed(sum((one) => one.wei > 0n)), `coins in ${count(blocks)} blocks`],
                    ["of it for segments", signed(sum((one) => one.what.endsWith("segments")))],
                    ["of it for audits", signed(sum((one) => one.what.startsWith("audit")))],
                    ["lost", signed(sum((one) => one.wei < 0n))],
                    ["altogether", signed(sum(() => true))],
                ]}
            />
            {entries.length > 1 && <Chart label="Income" x={entries.map((one) => one.height)} xName="block" series={[{ name: "coins", values: curve, step: true }]} height={150} />}
            <LongTable
                label="Income"
                head={[["block", "num"], ["for"], ["task"], ["coins", "num"]]}
                rows={[...entries].reverse()}
                keyOf={(_, i) => i}
                cells={(one) => (
                    <>
                        <td class="num"><BlockLink of={one.height} /></td>
                        <td>{one.what}</td>
                        <td>{one.task ? <TaskLink of={`0x${BigInt(one.task).toString(16)}`} /> : "–"}</td>
                        <td class="num">{one.wei < 0n ? <span title={exact(one.wei)}>{signed(one.wei)}</span> : <Coins of={hex(one.wei)} />}</td>
                    </>
                )}
            />
        </Panel>
    );
}
