// SPDX-License-Identifier: MIT
// Metrics of a training: those that its checkpoints commit to, and the file that `retrace task fetch` writes.
import { useState } from "preact/hooks";
import { Chart } from "../chart";
import { bytes, count, tame } from "../format";
import { ErrorLine, FileField } from "../parts";
import type { Dispute, Group, Task } from "../records";
import type { TaskEvent } from "../rpc";
import { KeptNumbers } from "./kept_numbers";
import { RoundNumbers } from "./round_numbers";

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
export function Metrics({ task, events, group, disputes }: { task: Task; events: TaskEvent[]; group: Group | null; disputes: Dispute[] }) {
    return (
        <>
            {group?.group ? (
                <RoundNumbers task={task} group={group} events={events} disputes={disputes} />
            ) : (
                <KeptNumbers task={task} events={events} disputes={disputes} />
            )}
            <FromFile />
        </>
    );
}
