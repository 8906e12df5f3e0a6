// SPDX-License-Identifier: MIT
// Posts a task: the terms of a compiled one that the person chooses, or of one whose files this node has, with other numbers.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Send, useAccount } from "../actions";
import { big, bytes, coins, count, figure, hex, many, num, tame } from "../format";
import { useQuery, useTitle } from "../hooks";
import { ceilingsOf, detection, escrowOf, kPlaces, type MarketParams, rentDepositOf, segmentsOf, stakeOf } from "../odds";
import { Address, ErrorLine, Facts, Hash, Panel, Pending } from "../parts";
import type { Group, Page, Task, TaskSummary, Verifier } from "../records";
import { encodable, fieldsOf, type Posting, postingOf, valuesOf } from "../terms";
import type { Call } from "../wallet";
import { useAuctionsBy } from "./auctions_by";
import { NewTask } from "./compiled";
import { onFraud } from "./group";
import { Offer } from "./reservation";

/** What the terms cost, and what they promise. */
function Costs({ of, params, places, verifiers }: { of: Posting; params: MarketParams; places: string; verifiers: number | undefined }) {
    const { spec: terms, rounds } = of;
    const ceilings = ceilingsOf(terms);
    const stakes = [...new Set([ceilings[0], ceilings[ceilings.length - 1]])].map((ceiling) => stakeOf(of, params, ceiling));
    const blocks = big(params.bidBlocks) + big(params.revealBlocks);
    const rent = rentDepositOf(of, places, params);
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
                    rounds
                        ? ["a member is paid at most", `${coins(hex(BigInt(terms.priceCeiling) * BigInt(rounds.group.rounds)))} coins, for ${many(rounds.group.rounds, "round")} of ${many(rounds.group.stepsMax, "step")}`]
                        : ["segments", count(hex(segmentsOf(terms) * BigInt(terms.replicas)))],
                    ["auctions, while too few solvers bid", `${ceilings.length}, of ${count(hex(blocks))} blocks each${stakes.length > 1 ? `, for at most ${ceilings.map((one) => coins(hex(one))).join(", ")} coins a segment` : ""}`],
                    ["stake that a bid locks", stakes.includes(null) ? "no stake is enough: audit more" : `${stakes.map((one) => coins(hex(one as bigint))).join(" coins, in the last auction ")} coins`],
                    ["one bad segment is found with", percent(1)],
                    ["ten bad segments with", percent(10)],
                    ["always audited", rounds ? "each member's first segment, and the one that takes in the last round" : "the first and the last segment"],
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
export function Terms({ of, from, posted, children }: { of: Posting; from: string; posted?: (hash: string) => void; children?: ComponentChildren }) {
    const account = useAccount();
    const params = useQuery<MarketParams>("retrace_params", []);
    const places = useQuery<string>("eth_call", [kPlaces, "latest"]);
    const verifiers = useQuery<Verifier[]>("retrace_verifiers", []);
    const [values, setValues] = useState(valuesOf(of));
    const [flags, setFlags] = useState({ allowUnaudited: false, spot: of.spec.spot });
    const { spec, rounds } = of;
    const deadline = useAuctionsBy(values.by?.trim() ?? "", params.data);
    if (!params.data || places.data === undefined) return <Pending error={params.error || places.error} data={undefined} what="parameters" />;
    const known = params.data;
    const taken = String(places.data);
    const given = deadline.auctions === undefined ? values : { ...values, auctions: String(deadline.auctions), pauseBlocks: String(deadline.pause) };
    let terms: Posting | undefined;
    let wrong = "";
    try {
        terms = postingOf(of, given, flags);
        if (deadline.wrong) throw new Error(deadline.wrong);
        if (BigInt(terms.spec.auctions) > big(known.rounds)) throw new Error(`A task of this chain has at most ${num(known.rounds)} auctions.`);
        if (spec.contractHash !== known.contractHash) throw new Error("The chain follows another kernel contract than the program was compiled for.");
    } catch (error) {
        wrong = (error as Error).message;
    }
    const make = (): Call => {
        if (deadline.wrong) throw new Error(deadline.wrong);
        const now = postingOf(of, given, flags);
        const value = escrowOf(now.spec, known) + rentDepositOf(now, taken, known);
        if (!now.rounds) return { contract: "IMarket", method: "postTask", args: [encodable(now.spec)], value };
        return { contract: "IGroups", method: "postGroup", args: [encodable(now.spec), encodable(now.rounds.group)], value };
    };
    const able = Array.isArray(verifiers.data)
        ? verifiers.data.filter((one) => one?.info?.retiring === false && one.verifier !== account?.address).length
        : undefined;
    return (
        <>
            <div class="form">
                {fieldsOf(of).map(({ key, label, meaning }) => (
                    <div key={key}>
                        <label>
                            {label}
                            <input
                                value={given[key]}
                                disabled={(key === "auctions" || key === "pauseBlocks") && deadline.auctions !== undefined}
                                maxLength={80}
                                aria-describedby={meaning && `means-${key}`}
                                onInput={(event) => setValues({ ...values, [key]: event.currentTarget.value })}
                            />
                        </label>
                        {meaning && <small id={`means-${key}`}>{meaning}</small>}
                    </div>
                ))}
                <label>
                    <input type="checkbox" checked={flags.allowUnaudited} onChange={(event) => setFlags({ ...flags, allowUnaudited: event.currentTarget.checked })} />{" "}
                    pay also for segments that were drawn and that nobody audited
                </label>
                {!rounds && (
                    <label>
                        <input type="checkbox" checked={flags.spot} onChange={(event) => setFlags({ ...flags, spot: event.currentTarget.checked })} />{" "}
                        spot: its solver may give it back at a checkpoint, and another goes on from there
                    </label>
                )}
            </div>
            <h3>Taken from {from}</h3>
            <Facts
                rows={[
                    [rounds ? "plan" : "program", <Hash of={spec.programRoot} />],
                    [rounds ? "size of the plan" : "size of the program", bytes(num(spec.programBytes))],
                    ...(rounds ? ([["steps of a member in a round", count(rounds.group.stepsMax)], ["members, at most", count((terms?.spec ?? spec).replicas)], onFraud(rounds.group)] as [string, ComponentChildren][]) : []),
                    ["initialiser", <Hash of={spec.initRoot} />],
                    ["first state", <Hash of={spec.initialStateRoot} />],
                    ["data", spec.dataRoots.map((root) => <div key={root}><Hash of={root} /></div>)],
                    ["numeric contract", <Hash of={spec.contractHash} />],
                    ["hardware class", count(spec.hardwareClass)],
                    [rounds ? "blocks for the first state" : "blocks for a segment", count(spec.checkpointBlocks)],
                    ["blocks for a replay", count(spec.replayBlocks)],
                    ...(rounds ? [] : ([["blocks until the end", count(spec.finishBlocks)]] as [string, ComponentChildren][])),
                    [rounds ? "cost of a segment" : "cost of a step", count((terms?.spec ?? spec).stepCost)],
                ]}
            />
            {children}
            {wrong || !terms ? (
                <p class="error" role="alert">
                    {wrong}
                </p>
            ) : (
                <Costs of={terms} params={known} places={taken} verifiers={able} />
            )}
            {account ? <Send label="Post the task" make={make} done="Posted" then={posted} /> : <p class="dim">Connect a wallet (above) to post it.</p>}
            {account && terms && !wrong && !rounds && <Offer of={terms} params={known} />}
        </>
    );
}

/** The terms of a task whose files this node has. */
function Alike({ task, group }: { task: Task; group: Group | null }) {
    const account = useAccount();
    const stranger = account?.address !== task.task.requester;
    return (
        <Terms of={{ spec: task.spec, ...(group?.group ? { rounds: { group: group.spec } } : {}) }} from={`task ${num(task.task.id)}`}>
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
    const masked = (group.data?.group && (group.data.spec?.maskBits !== 0 || group.data.spec?.privateSets !== 0)) ?? false;
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
                {masked && <p>The messages of task {id} are sent under masks. This page posts no such task.</p>}
                {task.data && group.data !== undefined && !masked && <Alike key={id} task={task.data} group={group.data} />}
            </Panel>
        </>
    );
}
