// SPDX-License-Identifier: MIT
// The network: height, tasks, the price of work, solvers and verifiers, what happens now.
import { useEffect, useState } from "preact/hooks";
import { contractNamed, eventOf, topicOf } from "../abi";
import { Chart } from "../chart";
import { EventList } from "../events";
import { big, coins, count, duration, hex, num } from "../format";
import { contractList, useEvents, useHead, useQuery, useTitle } from "../hooks";
import { type Kept, keptLogs, useTaskEvents } from "../kept";
import { Address, BlockLink, Coins, Panel, Pending, Tiles } from "../parts";
import type { Page, Solver, Status, TaskSummary, Verifier } from "../records";
import { node } from "../rpc";
import { LongTable } from "../windowed";
import { speed, workOf } from "../work";
import { Reservations } from "./reservations";
import { TaskTable } from "./tasks";
import { Verifiers } from "./verifiers";

const kPricesMax = 60;

interface Price {
    height: number;
    /** Coins for 10^12 multiply-adds. */
    price: number;
}

interface Assigned {
    key: string;
    height: number;
    task: string;
    wei: bigint;
}

/** The newest assignments among the blocks that the node keeps. */
async function assignments(head: number): Promise<Kept<Assigned>> {
    const market = contractNamed(await contractList(), "IMarket");
    if (!market) return { items: [], from: 0, whole: true };
    const kept = await keptLogs({ address: market.address, topics: [topicOf(market, "TaskAssigned")] }, head);
    const items = kept.items.slice(-kPricesMax).flatMap((log) => {
        const a = Object.fromEntries(eventOf([market], log)?.arguments ?? []) as { [name: string]: unknown };
        return typeof a.price === "bigint" ? [assigned(num(log.blockNumber), String(a.task), String(a.run), a.price)] : [];
    });
    return { ...kept, items };
}
const assigned = (height: number, task: string, run: string, wei: bigint): Assigned => ({ key: `${height} ${task} ${run}`, height, task: hex(BigInt(task)), wei });

/** What winners of auctions are paid for their work, in the order of the blocks; new ones as they are assigned. */
function usePrices(height: number): { prices: Kept<Price> | undefined; error: string } {
    const [old, setOld] = useState<Kept<Assigned>>();
    const [fresh, setFresh] = useState<Assigned[]>([]);
    const [prices, setPrices] = useState<Kept<Price>>();
    const [error, setError] = useState("");
    useEffect(
        () =>
            node.taskEvents.on(({ event, height: at, arguments: a }) => {
                if (event === "TaskAssigned" && a) setFresh((before) => [...before, assigned(num(at), hex(big(a.task)), String(num(a.run)), big(a.price))].slice(-kPricesMax));
            }),
        [],
    );
    const known = height > 0;
    useEffect(() => {
        if (known) assignments(height).then(setOld, (e: Error) => setError(e.message));
    }, [known]);
    useEffect(() => {
        if (!old) return undefined;
        let current = true;
        const all = [...new Map([...old.items, ...fresh].map((one) => [one.key, one])).values()].slice(-kPricesMax);
        const read = async () => {
            const items: Price[] = [];
            for (const one of all) {
                const work = await workOf(one.task);
                if (work > 0) items.push({ height: one.height, price: (Number(one.wei) / 1e18 / work) * 1e12 });
            }
            if (current) setPrices({ ...old, items });
        };
        read().catch((e: Error) => current && setError(e.message));
        return () => {
            current = false;
        };
    }, [old, fresh]);
    return { prices, error };
}

function Prices({ height }: { height: number }) {
    const { prices: kept, error } = usePrices(height);
    if (!kept) return error ? <Pending error={error} data={undefined} what="prices" /> : <p class="dim">Loading prices …</p>;
    const prices = kept.items;
    const older = !kept.whole && <p class="caption">Of the blocks from <BlockLink of={kept.from} /> on: this node keeps no older ones.</p>;
    if (prices.length === 0)
        return (
            <>
                <p class="dim">{kept.from > 1 ? `No task was assigned from block ${count(kept.from)} on.` : "No task was assigned yet."}</p>
                {older}
            </>
        );
    return (
        <>
            <Chart
                label="Price of work"
                x={prices.map((one) => one.height)}
                xName="block"
                series={[{ name: "coins per 10¹² multiply-adds", values: prices.map((one) => one.price), points: prices.length < 2, step: true }]}
                height={190}
            />
            {older}
        </>
    );
}

function Solvers({ height }: { height: number }) {
    const { data, error, reload } = useQuery<Solver[]>("retrace_solvers", [], { task: 0 });
    const epoch = Math.floor(height / 20);
    // A registration is no event of a task.
    useEffect(reload, [epoch]);
    if (!data) return <Pending error={error} data={data} what="solvers" />;
    const list = [...data].sort((a, b) => num(b.runs) - num(a.runs) || (big(b.stake.bonded) > big(a.stake.bonded) ? 1 : -1));
    return (
        <LongTable
            label="Solvers"
            head={[["solver"], ["measured speed", "num"], ["staked", "num"], ["locked", "num"], ["settled", "num"], ["faults", "num"], ["runs now", "num"]]}
            empty="No solver is registered."
            rows={list}
            keyOf={(one) => one.solver}
            cells={(one) => (
                <>
                    <td><Address of={one.solver} /></td>
                    <td class="num">{speed(num(one.info.capability))}</td>
                    <td class="num"><Coins of={one.stake.bonded} /></td>
                    <td class="num"><Coins of={one.stake.locked} /></td>
                    <td class="num">{count(one.info.reputation.settled)}</td>
                    <td class="num">{count(one.info.reputation.faults + one.info.reputation.silences)}</td>
                    <td class="num">{count(one.runs)}</td>
                </>
            )}
        />
    );
}

export function NetworkPage() {
    useTitle("Network");
    const head = useHead();
    const status = useQuery<Status>("retrace_status", [], "blocks");
    const tasks = useQuery<Page<TaskSummary>>("retrace_tasks", [{ limit: 12 }], { task: 0 });
    const verifiers = useQuery<Verifier[]>("retrace_verifiers", [], { task: 0 });
    const newestTask = num(tasks.data?.items[0]?.id ?? 0) || 0;
    const recent = useTaskEvents(newestTask, num(tasks.data?.items[0]?.postedHeight));
    const events = useEvents(60, recent.events);
    const height = head ? num(head.number) : (status.data?.height ?? 0);
    const bonded = verifiers.data?.reduce((sum, one) => sum + big(one.stake.bonded), 0n);
    const now = useNow();
    const made = head ? num(head.timestamp) : status.data?.block_time;
    const s = status.data;
    return (
        <>
            <h1>Network</h1>
            <Pending error={status.error} data={s} what="status of the node" />
            {s && (
                <Tiles
                    rows={[
                        ["block", count(height), made ? `${duration(now - made)} ago` : ""],
                        ["chain", String(s.chain_id), `${s.engine}, ${s.peers} peers`],
                        ["tasks", count(newestTask), `${tasks.data?.items.filter((one) => one.state === "running").length ?? 0} of the newest 12 run`],
                        ["verifiers", count(verifiers.data?.length), bonded !== undefined ? `${coins(hex(bonded))} coins staked` : ""],
                        ["base fee", head ? `${(num(head.baseFeePerGas) / 1e9).toPrecision(3)}` : "–", "10⁻⁹ coins a gas"],
                        ["pool", count(s.pool.pending), `${s.pool.queued} wait for a nonce`],
                    ]}
                />
            )}
            {made !== undefined && made - now > 15 && (
                <p class="caption">By the clock of this machine the newest block was made {duration(made - now)} in the future: one of the two clocks is wrong.</p>
            )}
            {s && (s.halted || s.stalled || s.syncing) && (
                <p class="error" role="alert">
                    This node {s.halted ? `has halted: ${s.reason ?? ""}` : s.stalled ? "gets no new blocks" : "is catching up"}.
                </p>
            )}
            <div class="columns wide-left">
                <div>
                    <Panel title="Newest tasks" aside={<a href="#/tasks">all tasks</a>}>
                        <Pending error={tasks.error} data={tasks.data} what="tasks" />
                        {tasks.data && <TaskTable tasks={tasks.data.items} />}
                    </Panel>
                    <Reservations />
                    <Panel title="Solvers">
                        <Solvers height={height} />
                    </Panel>
                    <Panel title="Verifiers">
                        <Pending error={verifiers.error} data={verifiers.data} what="verifiers" />
                        {verifiers.data && <Verifiers list={verifiers.data} height={height} />}
                    </Panel>
                </div>
                <div>
                    <Panel title="Price of work">
                        <Prices height={height} />
                    </Panel>
                    <Panel title="What happens" aside="live">
                        {events.length === 0 ? <p class="dim">Nothing yet.</p> : <EventList events={events} task label="What happens" />}
                    </Panel>
                </div>
            </div>
        </>
    );
}

function useNow(): number {
    const [now, setNow] = useState(Date.now() / 1000);
    useEffect(() => {
        const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
        return () => clearInterval(timer);
    }, []);
    return now;
}
