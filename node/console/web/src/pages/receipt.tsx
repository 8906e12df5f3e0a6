// SPDX-License-Identifier: MIT
// The model of a task, compared with its root; its receipt, to save; a check of one that somebody gave.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { bytes, count, hex, num, save, tame } from "../format";
import { fetchModel } from "../model";
import { Address, ErrorLine, FileField, Hash, Panel } from "../parts";
import { peersOf } from "../peers";
import { proveModel } from "../proof";
import { compare, deliveredRun, type Line, parseReceipt, receiptOf, textOf, unaudited } from "../receipt";
import type { Segment, Task } from "../records";
import { node } from "../rpc";
import { Bar } from "./tasks";

const kBytesMax = 16 << 20;

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

/** Of a training in rounds: the page neither makes nor checks its receipt. */
function OfRounds({ task }: { task: Task }) {
    return (
        <Panel title="Model and receipt">
            <p class="caption">
                The model is fetched from a member that delivers it, or from those who keep its last state; this page hashes the plan and every tile
                and compares them with the roots on the ledger. The receipt counts the segments of all members: <code>retrace task fetch</code>{" "}
                writes it, and <code>retrace receipt verify</code> checks it.
            </p>
            <Model task={task} rounds />
        </Panel>
    );
}

export const ReceiptPanel = ({ task, rounds }: { task: Task; rounds: boolean }) => (rounds ? <OfRounds task={task} /> : <OfOne task={task} />);

function OfOne({ task }: { task: Task }) {
    const id = num(task.task.id);
    const [lines, setLines] = useState<Line[]>();
    const [name, setName] = useState("");
    const [error, setError] = useState("");
    const [saved, setSaved] = useState("");
    const [doubt, setDoubt] = useState("");
    const attempt = async (work: () => Promise<void>) => {
        setError("");
        setLines(undefined);
        setSaved("");
        try {
            await work();
        } catch (e) {
            setError((e as Error).message);
        }
    };
    const make = () =>
        attempt(async () => {
            const { receipt } = await receiptOf(id);
            save(`receipt-${id}.json`, textOf(receipt));
            setSaved(`${count(receipt.states.length)} states, ${count(receipt.audits.length)} audits`);
        });
    const check = (file: File) =>
        attempt(async () => {
            if (file.size > kBytesMax) throw new Error("A receipt has at most 16 MiB.");
            const given = parseReceipt(await file.text());
            if (given.task !== id) throw new Error(`This is the receipt of task ${given.task}.`);
            const held = await receiptOf(id, given.solver);
            setLines(compare(given, held.receipt));
            setDoubt(unaudited(held));
            setName(tame(file.name, 60));
        });
    const wrong = lines?.filter((line) => !line.ok).length ?? 0;
    return (
        <Panel title="Model and receipt">
            <p class="caption">
                The model is fetched from its solver or from those who keep it; this page hashes the program and every tile and compares them
                with the root of the last state of a run that stands. Proofs against the newest block's header show that, and the terms. That this
                header is the chain's, the node says: compare its hash with another node's. The receipt names the program, the data and every opened state by its root, and who audited what.
            </p>
            <Model task={task} rounds={false} />
            <p>
                <button type="button" onClick={() => void make()}>
                    Save receipt.json
                </button>{" "}
                <span role="status">{saved && `saved: ${saved}`}</span>
            </p>
            <p>
                <FileField label="check a receipt.json against the ledger" accept=".json,application/json" take={(file) => void check(file)} />
            </p>
            <ErrorLine text={error} />
            {lines && (
                <div role="status">
                    <p>
                        <strong>{wrong === 0 ? `${name} agrees with the ledger, as this node tells it.` : `${name}: ${wrong} of ${lines.length} parts differ from the ledger.`} {doubt}</strong>
                    </p>
                    <ul class="plain">
                        {lines.map((line) => (
                            <li key={line.what}>
                                {line.ok ? "agrees" : "DIFFERS"}: {line.what} {line.note && <span class="dim">({tame(line.note, 300)})</span>}
                            </li>
                        ))}
                    </ul>
                </div>
            )}
        </Panel>
    );
}
