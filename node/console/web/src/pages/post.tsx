// SPDX-License-Identifier: MIT
// Posts a task: the terms of a compiled one that the person chooses, or of one whose files this node has, with other numbers.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Send, useAccount } from "../actions";
import { big, bytes, coins, count, figure, hex, num, parseCoins, tame } from "../format";
import { useQuery, useTitle } from "../hooks";
import { detection, escrowOf, type MarketParams, rentDepositOf, segmentsOf, stakeFloor } from "../odds";
import { Address, ErrorLine, Facts, Hash, Panel, Pending } from "../parts";
import type { Group, Page, Spec, Task, TaskSummary, Verifier } from "../records";
import type { Call } from "../wallet";
import { NewTask } from "./compiled";

/** The market's places(): taken, most, and the rent of the next one for a block (contracts 12.8). */
const kPlaces = { to: "0x0000000000000000000000000000000000001002", data: "0x579ff7a2" };
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
    spot: boolean;
}

const kFields: [key: Exclude<keyof Form, "allowUnaudited" | "spot">, label: string][] = [
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
        spot: form.spot,
    };
}

/** As the ABI's encoder takes it: quantities as bigint. */
function encodable(spec: Spec): { [name: string]: unknown } {
    const wide = ["programBytes", "steps", "interval", "seed", "priceCeiling", "checkpointBlocks", "replayBlocks", "finishBlocks", "stepCost"];
    return Object.fromEntries(Object.entries(spec).map(([name, value]) => [name, wide.includes(name) ? big(value) : value]));
}

/** What the terms cost, and what they promise. */
function Costs({ terms, params, places, verifiers }: { terms: Spec; params: MarketParams; places: string; verifiers: number | undefined }) {
    const stake = stakeFloor(terms, params);
    const rent = rentDepositOf(terms, places, params);
    const percent = (bad: number) => `${figure(100 * detection(terms, params, bad))} %`;
    return (
        <>
            <p>
                Locked as escrow: <strong>{coins(hex(escrowOf(terms, params)))}</strong> coins. What is not used comes back at the end.
                {rent > 0n && (
                    <>
                        {" "}
                        The chain has many open tasks: <strong>{coins(hex(rent))}</strong> coins more are a deposit for the rent of this one's place.
                    </>
                )}
            </p>
            <Facts
                rows={[
                    ["segments", count(hex(segmentsOf(terms) * BigInt(terms.replicas)))],
                    ["stake that a bid locks", stake === null ? "no stake is enough: audit more" : `${coins(hex(stake))} coins`],
                    ["one bad segment is found with", percent(1)],
                    ["ten bad segments with", percent(10)],
                    ["always audited", "the first and the last segment"],
                ]}
            />
            {verifiers !== undefined && verifiers < terms.auditors && !terms.allowUnaudited && (
                <p class="error" role="alert">
                    {`${verifiers} verifiers could be drawn now and the terms ask for ${terms.auditors}: drawn segments would wait, unpaid, for others.`}
                </p>
            )}
        </>
    );
}

/** A form over terms; `posted` is told the transaction that posted them. */
export function Terms({ spec, from, posted, children }: { spec: Spec; from: string; posted?: (hash: string) => void; children?: ComponentChildren }) {
    const account = useAccount();
    const params = useQuery<MarketParams>("retrace_params", []);
    const places = useQuery<string>("eth_call", [kPlaces, "latest"]);
    const verifiers = useQuery<Verifier[]>("retrace_verifiers", []);
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
        spot: spec.spot,
    });
    if (!params.data || places.data === undefined) return <Pending error={params.error || places.error} data={undefined} what="parameters" />;
    const known = params.data;
    const taken = String(places.data);
    let terms: Spec | undefined;
    let wrong = "";
    try {
        terms = termsOf(spec, form);
        if (terms.contractHash !== known.contractHash) throw new Error("The chain follows another kernel contract than the program was compiled for.");
    } catch (error) {
        wrong = (error as Error).message;
    }
    const make = (): Call => {
        const now = termsOf(spec, form);
        return { contract: "IMarket", method: "postTask", args: [encodable(now)], value: escrowOf(now, known) + rentDepositOf(now, taken, known) };
    };
    const able = Array.isArray(verifiers.data)
        ? verifiers.data.filter((one) => one?.info?.retiring === false && one.verifier !== account?.address).length
        : undefined;
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
                <label>
                    <input type="checkbox" checked={form.spot} onChange={(event) => setForm({ ...form, spot: event.currentTarget.checked })} />{" "}
                    spot: its solver may give it back at a checkpoint, and another goes on from there
                </label>
            </div>
            <h3>Taken from {from}</h3>
            <Facts
                rows={[
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
            {children}
            {wrong || !terms ? (
                <p class="error" role="alert">
                    {wrong}
                </p>
            ) : (
                <Costs terms={terms} params={known} places={taken} verifiers={able} />
            )}
            {account ? <Send label="Post the task" make={make} done="Posted" then={posted} /> : <p class="dim">Connect a wallet (above) to post it.</p>}
        </>
    );
}

/** The terms of a task whose files this node has. */
function Alike({ task }: { task: Task }) {
    const account = useAccount();
    const stranger = account?.address !== task.task.requester;
    return (
        <Terms spec={task.spec} from={`task ${num(task.task.id)}`}>
            <p>
                Its requester is <Address of={task.task.requester} full />.{" "}
                {stranger && <strong>Another account chose this program and these data and periods. Whoever posts them pays for what they compute.</strong>}
            </p>
        </Terms>
    );
}

export function PostPage({ like }: { like: string }) {
    useTitle("Post a task");
    const tasks = useQuery<Page<TaskSummary>>("retrace_tasks", [{ limit: 100 }]);
    const [id, setId] = useState(/^\d+$/.test(like) ? Number(like) : 0);
    const task = useQuery<Task | null>(id ? "retrace_task" : null, [hex(id)]);
    const group = useQuery<Group | null>(id ? "retrace_group" : null, [hex(id)]);
    const terms = group.data === undefined || group.data?.group ? undefined : task.data;
    return (
        <>
            <h1>Post a task</h1>
            <Panel title="A new program">
                <NewTask />
            </Panel>
            <Panel title="Like another task">
                <p>The program and the data are those of a task whose files this node stores.</p>
                <Pending error={tasks.error} data={tasks.data} what="tasks" />
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
                {terms && <Alike key={id} task={terms} />}
            </Panel>
        </>
    );
}
