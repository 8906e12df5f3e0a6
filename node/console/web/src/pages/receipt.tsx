// SPDX-License-Identifier: MIT
// The model of a task, compared with its root; its receipt, to save; a check of one that somebody gave.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { bytes, count, hex, many, num, save, tame } from "../format";
import type { GroupFacts } from "../group_receipt";
import { fetchModel } from "../model";
import { Address, BlockLink, ErrorLine, FileField, Hash, Panel, State } from "../parts";
import { peersOf } from "../peers";
import { proveModel } from "../proof";
import { compare, deliveredRun, type Held, type Line, parseReceipt, receiptOf, textOf, unaudited } from "../receipt";
import type { Segment, Task } from "../records";
import { node } from "../rpc";
import { LongTable } from "../windowed";
import { Bar } from "./tasks";

const kBytesMax = 16 << 20;
const kMessagesMax = 100; // that are listed
const kRunStates = ["", "assigned", "running", "delivering", "settled", "forfeited", "left"];

/** `rounds`: a training whose members have states of their own; the last of one that delivers has the shared model. */
function Model({ task, rounds }: { task: Task; rounds: boolean }) {
    const [progress, setProgress] = useState<[string, number]>();
    const [error, setError] = useState("");
    const [done, setDone] = useState<ComponentChildren>();
    const [stop, setStop] = useState<AbortController>();
    const run = deliveredRun(task);
    if (!run) return <p class="dim">The model can be fetched when it is delivered.</p>;
    const work = async (signal: AbortSignal) => {
        setProgress(["asking the node …", 0]);
        const last = rounds ? num(run.nextState) - 1 : Math.ceil(num(task.spec.steps) / num(task.spec.interval));
        const [segment] = (await node.call<Segment[] | null>("retrace_segments", [task.task.id, hex(run.index), hex(last - 1), "0x1"])) ?? [];
        if (!segment?.end?.opened) throw new Error("The last state is not opened yet.");
        const { value: model, height, block } = await proveModel(num(task.task.id), run.index, last, rounds);
        const result = await fetchModel(
            {
                task: num(task.task.id),
                contract: model.contract,
                program: model.program,
                programBytes: model.programBytes,
                rounds,
                stateRoot: model.root,
                // Steps of a member's states have other numbers (kernels/plan/SPEC.md 2).
                step: rounds ? null : model.steps,
                peers: await peersOf([model.solver, ...segment.end.keepers]),
            },
            signal,
            (text, part) => setProgress([text, part]),
        );
        save(`model-${num(task.task.id)}.safetensors`, result.file);
        setDone(
            <>
                saved: {count(result.tensors)} tensors, {bytes(result.bytes)} of tiles were compared with the root <Hash of={model.root} /> Run {run.index} of{" "}
                <Address of={model.solver} /> stands and opened it as its last, state {count(last)}, says the state of block {count(height)}, <Hash of={block} />{" "}
                That this block is the chain's, the node says.
            </>,
        );
    };
    const go = () => {
        setError("");
        setDone(undefined);
        const controller = new AbortController();
        setStop(controller);
        work(controller.signal)
            .catch((e: Error) => setError(e.message))
            .finally(() => setProgress(undefined));
    };
    return (
        <>
            <p>
                <button type="button" disabled={progress !== undefined} onClick={go}>
                    Fetch the model
                </button>{" "}
                {progress && (
                    <button type="button" class="quiet" onClick={() => stop?.abort()}>
                        Cancel
                    </button>
                )}{" "}
                {progress && <Bar done={progress[1]} of={1} label={progress[0]} />} <span role="status">{progress && tame(progress[0], 120)}</span>
            </p>
            <p role="status">{done}</p>
            {task.task.state === "delivering" && <p class="caption">It is provisional until the task is settled: a dispute may still convict its solver.</p>}
            <ErrorLine text={error} />
        </>
    );
}

/** On whose messages the model of a training in rounds rests, and who checked them. */
function OfRounds({ facts }: { facts: GroupFacts }) {
    const sum = (of: "recorded" | "consented" | "unverified") => facts.members.reduce((total, member) => total + member[of], 0);
    return (
        <>
            <p>
                {many(facts.rounds, "round")}, {count(facts.emptyRounds)} of them without a message; the model rests on {many(sum("recorded"), "message")} of{" "}
                {many(facts.members.length, "member")}.
            </p>
            {facts.isPrivate && (
                <p>
                    <strong>PRIVATE DATA:</strong> {many(sum("unverified"), "segment")} that train on members' own data are unverified, and{" "}
                    {count(sum("consented"))} were checked only by accounts to which the member gave the data, which may be its own.
                </p>
            )}
            <LongTable
                label="Segments of members"
                head={[["member"], ["state"], ["messages", "num"], ["audited", "num"], ["not drawn", "num"], ["drawn, not audited", "num"],
                    ...(facts.isPrivate ? ([["own data, by consent", "num"], ["own data, unverified", "num"]] as [string, "num"][]) : [])]}
                rows={facts.members}
                keyOf={({ run }) => run.index}
                cells={({ run, ...one }) => (
                    <>
                        <td>run {run.index}, <Address of={run.solver} /></td>
                        <td><State of={kRunStates[run.state] ?? `state ${run.state}`} /></td>
                        <td class="num">{count(one.recorded)}</td>
                        <td class="num">{count(one.verified)}</td>
                        <td class="num">{count(one.notDrawn)}</td>
                        <td class="num">{count(one.unaudited)}</td>
                        {facts.isPrivate && <td class="num">{count(one.consented)}</td>}
                        {facts.isPrivate && <td class="num">{count(one.unverified)}</td>}
                    </>
                )}
            />
            <ul class="plain">
                {facts.rollbacks.map(({ run, first, last }) => (
                    <li key={`${run} ${first}`}>
                        Rolled back: the message of run {run} in round {count(first)}, and all messages of later rounds up to {count(last)}, are not in the model.
                    </li>
                ))}
                {facts.unanswered.slice(0, kMessagesMax).map(({ run, round, weight, total, convicted }) => (
                    <li key={`${run} ${round}`}>
                        <strong>IN THE MODEL:</strong> the message of run {run} in round {count(round)}, {count(weight)} of the weights' sum of {count(total)}, of a
                        member that {convicted ? "was convicted" : "lost its lock by a deadline"}; the plan's clip bounds what it moved.
                    </li>
                ))}
            </ul>
            {facts.unanswered.length > kMessagesMax && <p class="caption">and {count(facts.unanswered.length - kMessagesMax)} more such messages</p>}
        </>
    );
}

/** What was read, and what of it no proof shows. */
function Proven({ of, lines, name }: { of: Held; lines: Line[] | undefined; name: string }) {
    const doubt = unaudited(of);
    const { counts, runs } = of;
    const wrong = lines?.filter((line) => !line.ok).length ?? 0;
    return (
        <div role="status">
            {lines ? (
                <p>
                    <strong>{wrong === 0 ? `${name} agrees with the ledger.` : `${name}: ${wrong} of ${lines.length} parts differ from the ledger.`} {doubt}</strong>
                </p>
            ) : (
                doubt && <p><strong>{doubt}</strong></p>
            )}
            {lines && (
                <ul class="plain">
                    {lines.map((line) => (
                        <li key={line.what}>
                            {line.ok ? "agrees" : "DIFFERS"}: {line.what} {line.note && <span class="dim">({tame(line.note, 300)})</span>}
                        </li>
                    ))}
                </ul>
            )}
            <p>
                {many(counts.verified, "segment")} audited, {count(counts.notDrawn)} not drawn, {count(counts.unaudited)} drawn and not audited
                {runs.length > 1 && `; the model comes from runs ${[...runs].reverse().join(", ")}, each from the state where the one before ended`}.
            </p>
            <p class="caption">
                Proved by {many(of.proofs, "record")} in the state of block <BlockLink of={of.height} />, <Hash of={of.block} /> That this block is the
                chain's, and the number of the chain, the node says, and the blocks of the settlement and of the audits too, because they are in no record.
            </p>
        </div>
    );
}

/** `rounds`: of a training in rounds. */
export function ReceiptPanel({ task, rounds }: { task: Task; rounds: boolean }) {
    const id = num(task.task.id);
    const [held, setHeld] = useState<Held>();
    const [lines, setLines] = useState<Line[]>();
    const [name, setName] = useState("");
    const [error, setError] = useState("");
    const [saved, setSaved] = useState("");
    const [proofs, setProofs] = useState(0);
    const [stop, setStop] = useState<AbortController>();
    const attempt = async (work: (read: (solver?: string) => Promise<Held>) => Promise<void>) => {
        setError("");
        setHeld(undefined);
        setLines(undefined);
        setSaved("");
        setProofs(0);
        const controller = new AbortController();
        setStop(controller);
        try {
            await work(async (solver) => {
                const found = await receiptOf(id, solver, controller.signal, setProofs);
                setHeld(found);
                return found;
            });
        } catch (e) {
            setError(controller.signal.aborted ? "Cancelled." : (e as Error).message);
        }
        setStop(undefined);
    };
    const make = () =>
        attempt(async (read) => {
            const { receipt } = await read();
            save(`receipt-${id}.json`, textOf(receipt));
            setSaved(`saved: ${many(receipt.states.length, "state")}, ${many(receipt.audits.length, "audit")}`);
        });
    const check = (file: File) =>
        attempt(async (read) => {
            if (file.size > kBytesMax) throw new Error("A receipt has at most 16 MiB.");
            const given = parseReceipt(await file.text());
            if (given.task !== id) throw new Error(`This is the receipt of task ${given.task}.`);
            const { receipt, also } = await read(given.solver);
            setLines(compare(given, receipt, also));
            setName(tame(file.name, 60));
        });
    return (
        <Panel title="Model and receipt">
            <p class="caption">
                The model is fetched from {rounds ? "a member that delivers it" : "its solver"} or from those who keep it; this page hashes the{" "}
                {rounds ? "plan" : "program"} and every tile and compares them
                with the root of the last state of a run that stands. Proofs against the newest block's header show that, and the terms. That this
                header is the chain's, the node says: compare its hash with another node's. The receipt names the program, the data and every opened state{rounds && " of the member that delivers"} by
                its root, and who audited what{rounds && "; below it this page counts the segments of all members"}: proofs show these too.
            </p>
            <Model task={task} rounds={rounds} />
            <p>
                <button type="button" disabled={stop !== undefined} onClick={() => void make()}>
                    Save receipt.json
                </button>{" "}
                {stop && (
                    <button type="button" class="quiet" onClick={() => stop.abort()}>
                        Cancel
                    </button>
                )}{" "}
                <span role="status">{stop ? `${many(proofs, "record")} of the ledger proved …` : saved}</span>
            </p>
            <p>
                <FileField label="check a receipt.json against the ledger" accept=".json,application/json" take={(file) => void check(file)} />
            </p>
            <ErrorLine text={error} />
            {held && !stop && <Proven of={held} lines={lines} name={name} />}
            {held?.group && !stop && <OfRounds facts={held.group} />}
        </Panel>
    );
}
