// SPDX-License-Identifier: MIT
// Posts a task: the terms of one whose program and data this node has, with other numbers.
import { useState } from "preact/hooks";
import { Send, useAccount } from "../actions";
import { big, bytes, coins, count, hex, num, parseCoins, tame } from "../format";
import { useQuery, useTitle } from "../hooks";
import { Address, ErrorLine, Facts, Hash, Panel, Pending } from "../parts";
import type { Group, Page, Spec, Task, TaskSummary } from "../records";
import type { Call } from "../wallet";

interface MarketParams {
    auditFee: string;
    auditFeeBp: string;
    bidDeposit: string;
    rounds: string;
    bidBlocks: string;
    revealBlocks: string;
    acceptBlocks: string;
    deliverBlocks: string;
    unbondBlocks: string;
}

/** The market's places(): taken, most, and the rent of the next one for a block (contracts 12.8). */
const kPlaces = { to: "0x0000000000000000000000000000000000001002", data: "0x579ff7a2" };
/** Places that others may take before this task. */
const kTasksAhead = 64n;

/** Market 6.1: the price of all segments and the fees of their auditors. */
export function escrowOf(spec: Spec, ceiling: bigint, params: MarketParams): bigint {
    const share = (ceiling * big(params.auditFeeBp)) / 10_000n;
    const fee = share > big(params.auditFee) ? share : big(params.auditFee);
    const steps = big(spec.steps);
    const segments = (steps + big(spec.interval) - 1n) / big(spec.interval);
    return (ceiling + fee * BigInt(spec.auditors)) * segments * BigInt(spec.replicas);
}

/** Market 12.4: a deposit for the rent of the place, twice as high as needed now; what is not used comes back. */
export function rentDepositOf(spec: Spec, places: string, params: MarketParams): bigint {
    const word = (index: number) => big(`0x${places.slice(2 + 64 * index, 66 + 64 * index)}`);
    if (word(0) + kTasksAhead < word(1) / 2n) return 0n;
    const least = big(params.bidDeposit) / 1_000_000n;
    const rent = word(2) > least ? word(2) : least;
    const auctions = big(params.rounds) * (big(params.bidBlocks) + big(params.revealBlocks) + big(params.acceptBlocks));
    return 2n * rent * (auctions + big(spec.finishBlocks) + big(params.deliverBlocks) + big(params.unbondBlocks));
}

interface Form {
    name: string;
    steps: string;
    interval: string;
    seed: string;
    price: string;
    audit: string;
    auditors: string;
    replicas: string;
    allowUnaudited: boolean;
}

const kFields: [key: Exclude<keyof Form, "allowUnaudited">, label: string][] = [
    ["name", "name"],
    ["steps", "steps"],
    ["interval", "steps of a segment"],
    ["seed", "seed"],
    ["price", "at most, coins a segment"],
    ["audit", "audited segments, %"],
    ["auditors", "auditors of a segment (1–5)"],
    ["replicas", "replicas (1–5)"],
];

function whole(text: string, what: string, low: bigint, high: bigint): bigint {
    if (!/^\d{1,20}$/.test(text.trim()) || BigInt(text) < low || BigInt(text) > high) throw new Error(`${what} is a whole number from ${low} to ${high}.`);
    return BigInt(text);
}

/** The terms with the form's numbers; throws a sentence about the first that is wrong. */
export function termsOf(old: Spec, form: Form): Spec {
    if (new TextEncoder().encode(form.name).length > 64) throw new Error("The name has at most 64 bytes.");
    const steps = whole(form.steps, "The number of steps", 1n, 2n ** 40n);
    const interval = whole(form.interval, "The number of steps of a segment", 1n, steps);
    const price = parseCoins(form.price);
    if (!price) throw new Error("The price is a number of coins above zero, such as 1.5.");
    const percent = Number(form.audit);
    if (!(percent >= 0.01 && percent <= 100)) throw new Error("The share of audited segments is from 0.01 to 100 %.");
    return {
        ...old,
        name: form.name,
        steps: hex(steps),
        interval: hex(interval),
        seed: hex(whole(form.seed, "The seed", 0n, 2n ** 64n - 1n)),
        priceCeiling: hex(price),
        auditBp: Math.round(percent * 100),
        auditors: Number(whole(form.auditors, "The number of auditors", 1n, 5n)),
        replicas: Number(whole(form.replicas, "The number of replicas", 1n, 5n)),
        allowUnaudited: form.allowUnaudited,
    };
}

/** As the ABI's encoder takes it: quantities as bigint. */
function encodable(spec: Spec): { [name: string]: unknown } {
    const wide = ["programBytes", "steps", "interval", "seed", "priceCeiling", "checkpointBlocks", "replayBlocks", "finishBlocks", "stepCost"];
    return Object.fromEntries(Object.entries(spec).map(([name, value]) => [name, wide.includes(name) ? big(value) : value]));
}

function Terms({ task, params, places }: { task: Task; params: MarketParams; places: string }) {
    const account = useAccount();
    const { spec } = task;
    const [form, setForm] = useState<Form>({
        name: spec.name,
        steps: big(spec.steps).toString(),
        interval: big(spec.interval).toString(),
        seed: big(spec.seed).toString(),
        price: coins(spec.priceCeiling).replace(/\u202f/g, ""),
        audit: String(spec.auditBp / 100),
        auditors: String(spec.auditors),
        replicas: String(spec.replicas),
        allowUnaudited: false,
    });
    let escrow: bigint | undefined;
    let rent = 0n;
    let wrong = "";
    try {
        const terms = termsOf(spec, form);
        escrow = escrowOf(terms, big(terms.priceCeiling), params);
        rent = rentDepositOf(terms, places, params);
    } catch (error) {
        wrong = (error as Error).message;
    }
    const make = (): Call => {
        const terms = termsOf(spec, form);
        const value = escrowOf(terms, big(terms.priceCeiling), params) + rentDepositOf(terms, places, params);
        return { contract: "IMarket", method: "postTask", args: [encodable(terms)], value };
    };
    return (
        <>
            <div class="form">
                {kFields.map(([key, label]) => (
                    <label key={key}>
                        {label}
                        <input value={form[key]} maxLength={80} onInput={(event) => setForm({ ...form, [key]: event.currentTarget.value })} />
                    </label>
                ))}
                <label>
                    <input type="checkbox" checked={form.allowUnaudited} onChange={(event) => setForm({ ...form, allowUnaudited: event.currentTarget.checked })} />{" "}
                    pay also for segments that were drawn and that nobody audited
                </label>
            </div>
            <h3>Taken from task {num(task.task.id)}</h3>
            <Facts
                rows={[
                    ["its requester", <Address of={task.task.requester} full />],
                    ["program", <Hash of={spec.programRoot} />],
                    ["size of the program", bytes(num(spec.programBytes))],
                    ["initialiser", <Hash of={spec.initRoot} />],
                    ["first state", <Hash of={spec.initialStateRoot} />],
                    ["data", spec.dataRoots.map((root) => <div key={root}><Hash of={root} /></div>)],
                    ["numeric contract", <Hash of={spec.contractHash} />],
                    ["hardware class", count(spec.hardwareClass)],
                    ["blocks for a segment", count(spec.checkpointBlocks)],
                    ["blocks for a replay", count(spec.replayBlocks)],
                    ["blocks until the end", count(spec.finishBlocks)],
                    ["cost of a step", count(spec.stepCost)],
                ]}
            />
            {account?.address !== task.task.requester && (
                <p>
                    <strong>Another account chose this program and these data and periods. Whoever posts them pays for what they compute.</strong>
                </p>
            )}
            {wrong ? (
                <p class="error" role="alert">
                    {wrong}
                </p>
            ) : (
                <p>
                    Locked as escrow: <strong>{coins(hex(escrow ?? 0n))}</strong> coins. What is not used comes back at the end.
                    {rent > 0n && (
                        <>
                            {" "}
                            The chain has many open tasks: <strong>{coins(hex(rent))}</strong> coins more are a deposit for the rent of this one's place.
                        </>
                    )}
                </p>
            )}
            {account ? <Send label="Post the task" make={make} done="Posted" /> : <p class="dim">Connect a wallet (above) to post it.</p>}
        </>
    );
}

export function PostPage({ like }: { like: string }) {
    useTitle("Post a task");
    const tasks = useQuery<Page<TaskSummary>>("retrace_tasks", [{ limit: 100 }]);
    const params = useQuery<MarketParams>("retrace_params", []);
    const places = useQuery<string>("eth_call", [kPlaces, "latest"]);
    const [id, setId] = useState(/^\d+$/.test(like) ? Number(like) : 0);
    const task = useQuery<Task | null>(id ? "retrace_task" : null, [hex(id)]);
    const group = useQuery<Group | null>(id ? "retrace_group" : null, [hex(id)]);
    const terms = group.data === undefined || group.data?.group ? undefined : task.data;
    return (
        <>
            <h1>Post a task</h1>
            <p class="lead">
                The program and the data are those of a task whose files this node stores. A new program is compiled and uploaded with{" "}
                <code>retrace task compile</code> and <code>retrace task submit</code>.
            </p>
            <Panel title="Terms">
                <Pending error={tasks.error || params.error || places.error} data={tasks.data && params.data && places.data} what="tasks" />
                {tasks.data?.items.length === 0 && <p>There is no task yet whose files could be used.</p>}
                {tasks.data && tasks.data.items.length > 0 && (
                    <p>
                        <label>
                            like{" "}
                            <select value={String(id)} onChange={(event) => setId(Number(event.currentTarget.value))}>
                                <option value="0">choose a task …</option>
                                {tasks.data.items.map((one) => (
                                    <option key={one.id} value={String(num(one.id))}>
                                        task {num(one.id)}: {tame(one.name, 40)}
                                    </option>
                                ))}
                            </select>
                        </label>
                    </p>
                )}
                <ErrorLine text={task.error || group.error} />
                {group.data?.group && <p>Task {id} is trained by a group in rounds. This page posts no such task: use retrace task submit.</p>}
                {terms && params.data && places.data && <Terms key={id} task={terms} params={params.data} places={places.data} />}
            </Panel>
        </>
    );
}
