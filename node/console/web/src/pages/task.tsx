// SPDX-License-Identifier: MIT
// One task: its terms and state, the segments of each run, bids and why they won or not, money, what happened.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Chart } from "../chart";
import { EventList } from "../events";
import { big, bytes, coins, count, figure, hex, many, num, tame } from "../format";
import { useQuery, useTitle } from "../hooks";
import { kAtOnce, useTaskEvents } from "../kept";
import { Address, BlockLink, Coins, ErrorLine, Facts, Hash, Panel, Pending, State, Tiles } from "../parts";
import type { Bids, Dispute, Group, Page, Task, TaskExplanation } from "../records";
import type { TaskEvent } from "../rpc";
import { Send, useAccount } from "../actions";
import { LongTable } from "../windowed";
import { GroupPanel, RoundsProgress, termsOfRounds, tilesOfRounds } from "./group";
import { Metrics } from "./metrics";
import { Money } from "./money";
import { Raise } from "./raise";
import { ReceiptPanel } from "./receipt";
import { Legend, Strip } from "./strip";

/** Steps of the training by block: committed, and verified or found without a difference. */
function Progress({ task, events, from }: { task: Task; events: TaskEvent[]; from: number }) {
    const { x, committed, verified } = useMemo(() => {
        const interval = num(task.spec.interval);
        const steps = num(task.spec.steps);
        const points: [number, number, number][] = from ? [] : [[num(task.task.postedHeight), 0, 0]];
        const done = new Set<string>();
        let reached = 0;
        for (const event of events) {
            const a = event.arguments;
            if (event.event === "TaskAssigned") reached = Math.min(reached, num(a.firstState) * interval);
            else if (event.event === "CheckpointCommitted") reached = Math.max(reached, Math.min(steps, num(a.index) * interval));
            else if (event.event === "SegmentVerified") done.add(`${num(a.run)}/${num(a.segment)}`);
            else if (event.event === "RunEnded" && num(a.state) === 5) {
                for (const one of [...done]) if (one.startsWith(`${num(a.run)}/`)) done.delete(one);
                reached = 0;
            } else continue;
            points.push([num(event.height), reached, Math.min(steps, done.size * interval)]);
        }
        return { x: points.map((p) => p[0]), committed: points.map((p) => p[1]), verified: points.map((p) => p[2]) };
    }, [events, task, from]);
    if (x.length < 2) return <p class="dim">{from ? "Nothing was trained in the blocks that were read." : "Nothing was trained yet."}</p>;
    return (
        <Chart
            label="Steps of the training"
            x={x}
            xName="block"
            series={[
                { name: "steps committed", values: committed, step: true },
                { name: "steps replayed by auditors", values: verified, step: true },
            ]}
            height={180}
        />
    );
}

function BidTable({ id }: { id: string }) {
    const { data, error } = useQuery<Bids>("retrace_explainBids", [id], { task: num(id) });
    if (!data) return <Pending error={error} data={data} what="bids" />;
    return (
        <>
            <p class="caption">
                Round {data.round}, {data.closed ? "closed" : "open"}: sealed bids from block <BlockLink of={data.bidBegin} /> up to <BlockLink of={data.bidEnd} />, revealed up to{" "}
                <BlockLink of={data.revealEnd} />. A bid is at most <Coins of={data.priceCeiling} /> a segment
                {data.stakeFloor ? <> and locks <Coins of={data.stakeFloor} /> of stake</> : null}.
                {data.nextCeiling !== null && (
                    <>
                        {" "}Without winners another auction begins at block <BlockLink of={data.nextBegin ?? data.revealEnd} />, in which a segment costs at most{" "}
                        <Coins of={data.nextCeiling} />; {many(data.auctionsLeft, "auction")} may follow this one so.
                    </>
                )}
            </p>
            <LongTable
                label="Bids"
                head={[["bidder"], ["outcome"], ["asked", "num"], ["paid", "num"], ["place", "num"], ["why"]]}
                empty={data.closed ? "No bid was made in this round." : "No bid was made yet."}
                rows={data.bids}
                keyOf={(one) => one.bidder}
                cells={(one) => (
                    <>
                        <td><Address of={one.bidder} /></td>
                        <td><State of={one.outcome} /></td>
                        <td class="num">{one.revealed ? <Coins of={one.price} /> : "sealed"}</td>
                        <td class="num">{big(one.paid) ? <Coins of={one.paid} /> : "–"}</td>
                        <td class="num">{one.rank || "–"}</td>
                        <td class="text" title={tame(one.why, 200)}>{tame(one.why, 200)}</td>
                    </>
                )}
            />
        </>
    );
}

/** Why it waits or ended, what would change that, and what happens next. */
function Reason({ of }: { of: TaskExplanation }) {
    const rows: [string, ComponentChildren][] = [["now", tame(of.why, 400)]];
    if (of.remedy) rows.push(["to be done", tame(of.remedy, 400)]);
    if (of.next) rows.push(["next", <>{tame(of.next, 400)}{of.nextHeight !== null && <>, by block <BlockLink of={of.nextHeight} /></>}</>]);
    return (
        <Panel title="Why">
            <Facts rows={rows} />
        </Panel>
    );
}

/** What the requester can do now. */
function Requester({ id, task, rounds }: { id: number; task: Task; rounds: boolean }) {
    const account = useAccount();
    const { requester, state } = task.task;
    // The task may be seen as settled before the wallet's transaction is: its outcome is shown then too.
    const [offered, setOffered] = useState(false);
    useEffect(() => setOffered((before) => before || state === "delivering"), [state]);
    if (account?.address !== requester.toLowerCase()) return null;
    const call = (method: string) => () => ({ contract: "IMarket" as const, method, args: [BigInt(id)] });
    const open = ["bidding", "assigned", "running"].includes(state);
    return (
        <>
            <p>
                {(state === "delivering" || offered) && (
                    <Send label="Accept the model and pay" make={call("acceptModel")} done="Accepted" over={state !== "delivering"} />
                )}
                {state === "bidding" && (
                    <>
                        <Send label="Cancel the task" make={call("cancelTask")} done="Cancelled" />
                        {" (with bids it burns a thousandth of the stake that they lock, and once they can be revealed it is refused) "}
                    </>
                )}{" "}
                <a href={`#/post/${id}`}>Post one like it</a>
                {open && <> · <a href={`#/upload/${id}`}>Upload its files again</a></>}
            </p>
            {open && !rounds && <Raise id={id} task={task} />}
        </>
    );
}

const tilesOf = ({ spec, committed, segments, clear, paid }: Task): [string, ComponentChildren, string][] => [
    ["trained", `${count(committed)} / ${count(segments)}`, "segments"],
    ["final", count(clear), "segments"],
    ["paid", count(paid), "segments"],
    ["steps", count(spec.steps), `${count(spec.interval)} a segment`],
    ["at most", <Coins of={spec.priceCeiling} />, big(spec.lastCeiling) > big(spec.priceCeiling) ? `coins a segment, later ${coins(spec.lastCeiling)}` : "coins a segment"],
    ["audited", `${figure(spec.auditBp / 100)} %`, `${spec.auditors} auditors each`],
];

const kStrips = 20; // runs that are shown at once

export function TaskPage({ id }: { id: number }) {
    const known = Number.isSafeInteger(id) && id >= 0;
    const name = known ? hex(id) : null;
    const task = useQuery<Task | null>(name && "retrace_task", [name], { task: id });
    const { events, from, error, readOlder, reading } = useTaskEvents(id, num(task.data?.task.postedHeight));
    const reason = useQuery<TaskExplanation | null>(name && "retrace_explainTask", [name], { task: id });
    const disputes = useQuery<Page<Dispute>>(name && "retrace_disputes", [{ task: name, limit: 50 }], { task: id });
    const group = useQuery<Group | null>(name && "retrace_group", [name], { task: id });
    const [strips, setStrips] = useState(kStrips);
    useTitle(task.data ? `${tame(task.data.spec.name)}, task ${id}` : `task ${id}`);
    if (!known) return <p class="error">A task has a number.</p>;
    if (!task.data) return <Pending error={task.error} data={task.data} what={`task ${id}`} />;
    const { spec, task: record } = task.data;
    const untold = [reason.error, disputes.error, group.error].filter(Boolean).join("; ");
    const list = events ?? [];
    const older = from > 0 && (
        <p class="caption">
            {readOlder ? "What happened before block " : "This node keeps no blocks before "}
            <BlockLink of={from} />
            {readOlder ? " is not read yet." : ", so what happened earlier is not shown."}
        </p>
    );
    const rounds = group.data?.group ? group.data : null;
    return (
        <>
            <h1>
                {tame(spec.name, 100)} <span class="dim">task {id}</span> <State of={record.state} />
            </h1>
            <Tiles rows={rounds ? tilesOfRounds(spec, rounds) : tilesOf(task.data)} />
            {reason.data && <Reason of={reason.data} />}
            <ErrorLine text={untold && `Not all of this task is shown: ${untold}`} />
            <Requester id={id} task={task.data} rounds={rounds !== null} />
            <Panel title="Segments">
                {task.data.runs.length === 0 && <p class="dim">No solver was assigned yet; the bids below say why.</p>}
                {[...task.data.runs].reverse().slice(0, strips).map((run) => (
                    <Strip key={run.index} task={task.data as Task} run={run} disputes={disputes.data?.items ?? []} />
                ))}
                {task.data.runs.length > strips && (
                    <p>
                        <button type="button" onClick={() => setStrips(strips + kStrips)}>Show older runs</button> {count(task.data.runs.length - strips)} more
                    </p>
                )}
                {task.data.runs.length > 0 && <Legend />}
            </Panel>
            <GroupPanel of={group.data} />
            <div class="columns">
                <Panel title="Progress">
                    {(error || !events) && <Pending error={error} data={events} what="events" />}
                    {events && (rounds ? <RoundsProgress of={rounds} task={task.data} events={list} /> : <Progress task={task.data} events={list} from={from} />)}
                    {older}
                </Panel>
                <Panel title="Loss and metrics">
                    {group.data === undefined ? <Pending error={group.error} data={undefined} what="rounds" /> : <Metrics task={task.data} events={list} group={rounds} disputes={disputes.data?.items ?? []} />}
                </Panel>
            </div>
            <Panel title="Bids">
                <BidTable id={record.id} />
            </Panel>
            <div class="columns">
                <Panel title="Money">
                    <Money task={task.data} events={list} from={from} pruned={!readOlder} />
                </Panel>
                <Panel title="Events" aside={`${list.length}`}>
                    {older}
                    {readOlder && (
                        <p>
                            <button type="button" disabled={reading} onClick={readOlder}>
                                {reading ? "Reading …" : `Read ${count(kAtOnce)} older blocks`}
                            </button>
                        </p>
                    )}
                    {list.length > 0 && <EventList events={[...list].reverse()} label="Events of the task" />}
                </Panel>
            </div>
            {task.data.runs.length > 0 && group.data !== undefined && <ReceiptPanel task={task.data} rounds={rounds !== null} />}
            <Panel title="Terms">
                <Facts
                    rows={[
                        ["requester", <Address of={record.requester} full />],
                        ["posted in block", <BlockLink of={record.postedHeight} />],
                        ["program", <><Hash of={spec.programRoot} /> {bytes(num(spec.programBytes))}</>],
                        ["data", <>{spec.dataRoots.map((root) => <div key={root}><Hash of={root} /></div>)}</>],
                        ["initialiser", <Hash of={spec.initRoot} />],
                        ["initial state", <Hash of={spec.initialStateRoot} />],
                        ["seed", count(spec.seed)],
                        [rounds ? "multiply-adds of a segment" : "multiply-adds of a step", count(spec.stepCost)],
                        [rounds ? "members at most" : "replicas", count(spec.replicas)],
                        [rounds ? "a first state is due within" : "a checkpoint is due within", `${count(spec.checkpointBlocks)} blocks`],
                        ["a replay is given", `${count(spec.replayBlocks)} blocks`],
                        ...(rounds ? termsOfRounds(rounds.spec) : ([["the task ends within", `${count(spec.finishBlocks)} blocks`]] as [string, string][])),
                        ["numeric contract", <Hash of={spec.contractHash} />],
                    ]}
                />
            </Panel>
        </>
    );
}
