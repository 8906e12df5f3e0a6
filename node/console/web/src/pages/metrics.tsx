// SPDX-License-Identifier: MIT
// Metrics of a training: the loss that its checkpoints commit to, and the file that `retrace task fetch` writes.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart } from "../chart";
import { bytes, count, num, tame } from "../format";
import { fetchLosses, kPointsMax, type LossPoint, pointsOf, replayed, shownRun } from "../losses";
import { ErrorLine, FileField } from "../parts";
import type { Group, Task } from "../records";
import type { TaskEvent } from "../rpc";
import { RoundLosses } from "./round_losses";

const kBytesMax = 64 << 20;
const kSeriesMax = 4;

export interface Curve {
    step: Float64Array;
    columns: { name: string; values: Float64Array }[];
}

/** Reads "step,loss,…" with a number or nothing in each cell; an error is thrown as a sentence. */
export function parseMetrics(text: string): Curve {
    const lines = text.split(/\r?\n/);
    while (lines.length && lines[lines.length - 1] === "") lines.pop();
    const names = (lines[0] ?? "").split(",").map((name) => name.replace(/^"|"$/g, ""));
    if (names[0] !== "step" || names.length < 2) throw new Error("this is no metrics.csv: its first line is not step,…");
    const rows = lines.length - 1;
    const step = new Float64Array(rows);
    const columns = names.slice(1, 1 + kSeriesMax).map((name) => ({ name, values: new Float64Array(rows).fill(NaN) }));
    for (let i = 0; i < rows; i++) {
        const cells = (lines[i + 1] as string).split(",");
        if (cells.length !== names.length) throw new Error(`line ${i + 2} has ${cells.length} cells and not ${names.length}`);
        step[i] = Number(cells[0]);
        if (!Number.isFinite(step[i]) || (i > 0 && (step[i] as number) <= (step[i - 1] as number)))
            throw new Error(`line ${i + 2}: the steps do not ascend`);
        columns.forEach(({ values }, c) => {
            const cell = cells[c + 1] ?? "";
            if (cell !== "") values[i] = Number(cell);
        });
    }
    return { step, columns };
}

const isFinite = (points: LossPoint[]) => points.filter(({ loss }) => Number.isFinite(loss)).length;

/** Points of checkpoints, those that auditors replayed apart from those that only their solver claims. */
function Points({ points, interval }: { points: LossPoint[]; interval: number }) {
    const { x, verified, claimed } = useMemo(() => ({
        x: points.map(({ step }) => step),
        verified: points.map((one) => (one.verified ? one.loss : null)),
        claimed: points.map((one) => (one.verified ? null : one.loss)),
    }), [points]);
    const sure = points.filter((one) => one.verified).length;
    const missing = points.length - isFinite(points);
    return (
        <>
            <Chart
                label="Loss of the last step before each checkpoint"
                x={x}
                xName="step"
                series={[
                    { name: "loss, replayed by auditors", values: verified, points: true, filled: true },
                    { name: "loss, claimed by the solver", values: claimed, points: true },
                ]}
                height={180}
            />
            <p class="caption">
                {`${count(sure)} points are verified, ${count(points.length - sure)} are claimed, one every ${count(interval)} steps`}
                {missing > 0 && `; ${count(missing)} without a finite value`}
            </p>
        </>
    );
}

/** The loss that the training keeps in its state, fetched when the person asks: those who keep states see the reader. */
function Committed({ task, events }: { task: Task; events: TaskEvent[] }) {
    const [points, setPoints] = useState<LossPoint[]>([]);
    const [progress, setProgress] = useState("");
    const [error, setError] = useState("");
    const running = useRef<AbortController>();
    useEffect(() => () => running.current?.abort(), []);
    // What was opened when the losses were last asked for; undefined: the person has not asked for any.
    const [asked, setAsked] = useState<number>();
    const opened = useMemo(() => events.filter(({ event }) => event === "StateOpened").length, [events]);
    const go = () => {
        setAsked(opened);
        const controller = new AbortController();
        running.current = controller;
        setError("");
        setProgress("asking the node …");
        const tell = (some: LossPoint[], of: number) => {
            setPoints(some);
            setProgress(`${count(some.length)} of ${count(of)} checkpoints`);
        };
        fetchLosses(task, events, controller.signal, tell)
            .then(setError, (e: Error) => setError(e.message))
            .finally(() => setProgress(""));
    };
    const idle = progress === "";
    useEffect(() => {
        if (idle && asked !== undefined && opened > asked) go();
    }, [idle, asked, opened]);
    const run = shownRun(task);
    const verified = useMemo(() => replayed(events, run?.index ?? -1), [events, run?.index]);
    const interval = num(task.spec.interval);
    const now = useMemo(() => pointsOf(points, run?.index, verified, interval), [points, run?.index, verified]);
    return (
        <>
            <p class="caption">
                Each checkpoint commits to the loss of its last step. A point is <strong>verified</strong> if auditors replayed
                its segment and got the same bits; the others are what the solver <strong>claims</strong>. At most {kPointsMax} are fetched, from
                those who keep the states, and compared with the roots on the ledger; after the first time also those that are opened later.
            </p>
            <p>
                <button type="button" disabled={progress !== ""} onClick={go}>
                    {points.length ? "Fetch newer losses" : "Fetch the losses"}
                </button>{" "}
                <span role="status">{progress}</span>
            </p>
            {now.length > 0 && <Points points={now} interval={interval} />}
            <ErrorLine text={error} />
        </>
    );
}

/** A file of metrics that the person chooses. */
function FromFile() {
    const [curve, setCurve] = useState<Curve>();
    const [error, setError] = useState("");
    const [log, setLog] = useState(false);
    const read = async (file: File) => {
        setError("");
        try {
            if (file.size > kBytesMax) throw new Error(`the file has ${bytes(file.size)}; at most 64 MiB are drawn`);
            setCurve(parseMetrics(await file.text()));
        } catch (e) {
            setCurve(undefined);
            setError((e as Error).message);
        }
    };
    const missing = curve?.columns.map(({ values }) => values.reduce((n, v) => n + (Number.isFinite(v) ? 0 : 1), 0)) ?? [];
    return (
        <>
            <p class="caption">
                <code>retrace task fetch --losses N</code> replays segments on your own machine and writes the loss of each step
                to <code>metrics.csv</code>; it is drawn here and goes nowhere else.
            </p>
            <p>
                <FileField label="metrics.csv" accept=".csv,text/csv" take={(file) => void read(file)} />{" "}
                {curve && (
                    <label>
                        <input type="checkbox" checked={log} onChange={(event) => setLog(event.currentTarget.checked)} /> logarithmic
                    </label>
                )}
            </p>
            <ErrorLine text={error} />
            {curve && (
                <>
                    <Chart label="Metrics" x={curve.step} xName="step" series={curve.columns} height={180} log={log} />
                    <p class="caption">
                        {count(curve.step.length)} steps
                        {missing.some((n) => n > 0) && `; ${missing.map((n, i) => `${tame(curve.columns[i]?.name, 20)}: ${count(n)} without a finite value`).join(", ")}`}
                    </p>
                </>
            )}
        </>
    );
}

/** `group`: null of a task that is not trained in rounds. */
export function Metrics({ task, events, group }: { task: Task; events: TaskEvent[]; group: Group | null }) {
    return (
        <>
            {group?.group ? <RoundLosses task={task} group={group} events={events} /> : <Committed task={task} events={events} />}
            <FromFile />
        </>
    );
}
