// SPDX-License-Identifier: MIT
// The network: height, tasks, the price of work, solvers and verifiers, what happens now.
import { useEffect, useState } from "preact/hooks";
import { contractNamed, eventOf, topicOf } from "../abi";
import { Chart } from "../chart";
import { EventList } from "../events";
import { big, coins, count, duration, hex, num } from "../format";
import { contractList, useEvents, useHead, useQuery, useTitle } from "../hooks";
import { Address, Coins, Panel, Pending, Table, Tiles } from "../parts";
import type { Contract, Log, Page, Party, Status, Task, TaskSummary, Verifier } from "../records";
import { type TaskEvent, node } from "../rpc";
import { Reservations } from "./reservations";
import { TaskTable } from "./tasks";

const kLogBlocks = 100_000; // what the node answers at once
const kPricesMax = 60;
const kSolversMax = 50;

/** The events of one kind in the newest blocks. */
async function newest(contract: Contract, event: string, head: number): Promise<Log[]> {
    const from = Math.max(0, head - kLogBlocks + 1);
    return node.call<Log[]>("eth_getLogs", [{ fromBlock: hex(from), address: contract.address, topics: [topicOf(contract, event)] }]);
}

interface Price {
    height: number;
    /** Coins for 10^12 multiply-adds. */
    price: number;
}

/** What winners of auctions are paid for their work, in the order of the blocks. */
function usePrices(tasks: number, height: number): Price[] | undefined {
    const [prices, setPrices] = useState<Price[]>();
    useEffect(() => {
        let current = true;
        const read = async () => {
            const market = contractNamed(await contractList(), "IMarket");
            if (!market || !height) return;
            const logs = (await newest(market, "TaskAssigned", height)).slice(-kPricesMax);
            const out: Price[] = [];
            const specs = new Map<string, Task | null>();
            for (const log of logs) {
                const decoded = eventOf([market], log);
                const task = log.topics[1] ?? "0x0";
                if (!specs.has(task)) specs.set(task, await node.call<Task | null>("retrace_task", [hex(BigInt(task))]));
                const spec = specs.get(task)?.spec;
                const price = decoded?.arguments.find(([name]) => name === "price")?.[1];
                if (!spec || typeof price !== "bigint") continue;
                const work = num(spec.stepCost) * Math.min(num(spec.interval), num(spec.steps));
                if (work > 0) out.push({ height: num(log.blockNumber), price: (Number(price) / 1e18 / work) * 1e12 });
            }
            if (current) setPrices(out);
        };
        read().catch(() => current && setPrices([]));
        return () => {
            current = false;
        };
    }, [tasks, height === 0]);
    return prices;
}

function useSolvers(height: number): { solvers: Party[] | undefined; error: string } {
    const [solvers, setSolvers] = useState<Party[]>();
    const [error, setError] = useState("");
    const epoch = Math.floor(height / 20);
    useEffect(() => {
        let current = true;
        const read = async () => {
            const staking = contractNamed(await contractList(), "IStaking");
            if (!staking || !height) return;
            const logs = await newest(staking, "SolverRegistered", height);
            const addresses = [...new Set(logs.map((log) => `0x${log.topics[1]?.slice(26) ?? ""}`).reverse())];
            const parties = await Promise.all(
                addresses.slice(0, kSolversMax).map((one) => node.call<Party>("retrace_party", [one])),
            );
            if (current) setSolvers(parties.filter((one) => one.solver));
        };
        read().catch((e: Error) => current && setError(e.message));
        return () => {
            current = false;
        };
    }, [epoch]);
    return { solvers, error };
}

/** Multiply-adds a second, as the ledger measured them. */
const speed = (capability: unknown) => (num(capability) > 0 ? `${(num(capability) / 1e9).toPrecision(3)} G/s` : "–");

function Prices({ prices }: { prices: Price[] | undefined }) {
    if (!prices) return <p class="dim">Loading prices …</p>;
    if (prices.length === 0) return <p class="dim">No task was assigned yet.</p>;
    return (
        <Chart
            label="Price of work"
            x={prices.map((one) => one.height)}
            xName="block"
            series={[{ name: "coins per 10¹² multiply-adds", values: prices.map((one) => one.price), points: prices.length < 2, step: true }]}
            height={190}
        />
    );
}

function Solvers({ height }: { height: number }) {
    const { solvers, error } = useSolvers(height);
    if (!solvers) return <Pending error={error} data={undefined} what="solvers" />;
    return (
        <Table
            label="Solvers"
            head={[["solver"], ["measured speed", "num"], ["staked", "num"], ["locked", "num"], ["settled", "num"], ["faults", "num"], ["runs now", "num"]]}
            empty={solvers.length === 0 && "No solver has registered in the newest 100 000 blocks."}
        >
            {solvers.map((one) => (
                <tr key={one.address}>
                    <td><Address of={one.address} /></td>
                    <td class="num">{speed(one.solver?.capability)}</td>
                    <td class="num"><Coins of={one.stake.bonded} /></td>
                    <td class="num"><Coins of={one.stake.locked} /></td>
                    <td class="num">{count(one.solver?.reputation.settled)}</td>
                    <td class="num">{count((one.solver?.reputation.faults ?? 0) + (one.solver?.reputation.silences ?? 0))}</td>
                    <td class="num">{one.openRuns.length}</td>
                </tr>
            ))}
        </Table>
    );
}

function Verifiers({ list }: { list: Verifier[] }) {
    return (
        <Table
            label="Verifiers"
            head={[["verifier"], ["staked", "num"], ["weight", "num"], ["audits", "num"], ["missed", "num"]]}
            empty={list.length === 0 && "No verifier takes part: no segment can be audited."}
        >
            {list.map((one) => (
                <tr key={one.verifier}>
                    <td><Address of={one.verifier} /></td>
                    <td class="num"><Coins of={one.stake.bonded} /></td>
                    <td class="num"><Coins of={one.info.weight} /></td>
                    <td class="num">{count(one.info.audits)}</td>
                    <td class="num">{count(one.info.missed)}</td>
                </tr>
            ))}
        </Table>
    );
}

export function NetworkPage() {
    useTitle("Network");
    const head = useHead();
    const status = useQuery<Status>("retrace_status", [], "blocks");
    const tasks = useQuery<Page<TaskSummary>>("retrace_tasks", [{ limit: 12 }], { task: 0 });
    const verifiers = useQuery<Verifier[]>("retrace_verifiers", [], { task: 0 });
    const newestTask = num(tasks.data?.items[0]?.id ?? 0) || 0;
    const recent = useQuery<TaskEvent[]>(newestTask ? "retrace_taskEvents" : null, [hex(newestTask)]);
    const events = useEvents(60, recent.data);
    const height = head ? num(head.number) : (status.data?.height ?? 0);
    const prices = usePrices(newestTask, height);
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
                        {verifiers.data && <Verifiers list={verifiers.data} />}
                    </Panel>
                </div>
                <div>
                    <Panel title="Price of work">
                        <Prices prices={prices} />
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
