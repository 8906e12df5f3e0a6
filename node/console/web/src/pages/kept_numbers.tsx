// SPDX-License-Identifier: MIT
// The numbers that a training keeps in its state, by checkpoint: verified, committed or disputed.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart } from "../chart";
import { count, many, num, save } from "../format";
import { csvOf, disputed, fetchNumbers, forgetFailures, openedStates, replayed, type Slot, shownRun, slotsOf, statesOf, type Values, valuesOf } from "../numbers";
import { ErrorLine } from "../parts";
import type { StateTensor } from "../program";
import type { Dispute, Run, Task } from "../records";
import type { TaskEvent } from "../rpc";
import { Bar } from "./tasks";

export const kNoLoss = "This task's program keeps no loss in its state, so none is committed to: replay it with retrace task fetch --losses.";

/** Chosen slots: the metrics, and what a reader adds. */
export function SlotChoice({ slots, chosen, choose }: { slots: Slot[]; chosen: number[]; choose: (places: number[]) => void }) {
    const others = slots.filter(({ isMetric }) => !isMetric);
    if (others.length === 0) return null;
    return (
        <details>
            <summary>{many(others.length, "other number")} of the state</summary>
            {others.map(({ place, label }) => (
                <label key={place}>
                    <input
                        type="checkbox"
                        checked={chosen.includes(place)}
                        onChange={(event) => choose(event.currentTarget.checked ? [...chosen, place] : chosen.filter((one) => one !== place))}
                    />{" "}
                    {label}{" "}
                </label>
            ))}
        </details>
    );
}

interface Point {
    segment: number;
    step: number;
    verified: boolean;
    values: Values;
}
type Standing = "verified" | "committed" | "disputed";
interface Marked extends Point {
    standing: Standing;
}

function Curve({ slot, points }: { slot: Slot; points: Marked[] }) {
    const { x, of } = useMemo(() => ({
        x: points.map(({ step }) => step),
        of: (wanted: Standing) => points.map(({ standing, values }) => (standing === wanted ? (values.get(slot.place) ?? null) : null)),
    }), [points, slot.place]);
    const hasDisputes = points.some(({ standing }) => standing === "disputed");
    return (
        <Chart
            label={`${slot.label} of the last step before each checkpoint`}
            x={x}
            xName="step"
            series={[
                { name: `${slot.label}, replayed by auditors`, values: of("verified"), points: true, filled: true },
                { name: `${slot.label}, committed by the solver`, values: of("committed"), points: true },
                ...(hasDisputes ? [{ name: `${slot.label}, disputed`, values: of("disputed"), points: true, filled: true }] : []),
            ]}
            height={180}
        />
    );
}

function Curves({ points, slots, task, run }: { points: Marked[]; slots: Slot[]; task: Task; run: number }) {
    const of = (standing: Standing) => points.filter((one) => one.standing === standing).length;
    const infinite = points.filter(({ values }) => slots.some(({ place }) => !Number.isFinite(values.get(place)))).length;
    const csv = () => {
        const rows = points.map(({ step, segment, standing, values }) => [step, segment + 1, ...slots.map(({ place }) => values.get(place) ?? ""), standing]);
        save(`task-${num(task.task.id)}-run-${run}.csv`, csvOf(["step", "checkpoint", ...slots.map(({ label }) => label), "standing"], rows));
    };
    return (
        <>
            {slots.map((slot) => <Curve key={slot.place} slot={slot} points={points} />)}
            <p class="caption">
                {`${count(of("verified"))} points are verified, ${count(of("committed"))} are committed, ${count(of("disputed"))} are disputed`}
                {`, one every ${many(task.spec.interval, "step")}`}
                {infinite > 0 && `; ${count(infinite)} without a finite value`}{" "}
                <button type="button" onClick={csv}>Save them as CSV</button>
            </p>
        </>
    );
}

/** Fetched when the person asks, because those who keep states see the reader; then also what is opened later. */
export function KeptNumbers({ task, events, disputes }: { task: Task; events: TaskEvent[]; disputes: Dispute[] }) {
    const [states, setStates] = useState<StateTensor[]>();
    const [chosen, setChosen] = useState<number[]>([]);
    const [points, setPoints] = useState<Point[]>([]);
    const [progress, setProgress] = useState<{ done: number; of: number }>();
    const [error, setError] = useState("");
    const [picked, setPicked] = useState<number>();
    const running = useRef<AbortController>();
    useEffect(() => () => running.current?.abort(), []);
    const run = task.runs.find(({ index }) => index === picked) ?? shownRun(task);
    const slots = useMemo(() => slotsOf(states ?? []), [states]);
    const shown = slots.filter(({ isMetric, place }) => isMetric || chosen.includes(place));
    // What was opened when the numbers were last asked for; undefined: the person has not asked for any.
    const [asked, setAsked] = useState<string>();
    const opened = useMemo(() => events.filter(({ event, arguments: a }) => event === "StateOpened" && num(a.run) === run?.index).length, [events, run?.index]);
    const wanted = `${run?.index} ${opened} ${chosen.join()}`;
    const look = async (of: Run, stop: AbortSignal) => {
        const tensors = states ?? (await statesOf(task, stop));
        setStates(tensors);
        const places = slotsOf(tensors).filter(({ isMetric, place }) => isMetric || chosen.includes(place)).map(({ place }) => place);
        if (places.length === 0) return "";
        const ends = await openedStates(task, of);
        const tell = () => {
            if (stop.aborted) return;
            const found = ends.flatMap(({ segment, root, verified }): Point[] => {
                const values = valuesOf(root, places);
                return values ? [{ segment, verified, values, step: Math.min(num(task.spec.steps), (segment + 1) * num(task.spec.interval)) }] : [];
            });
            setPoints(found);
            setProgress({ done: found.length, of: ends.length });
        };
        tell();
        return fetchNumbers(task, of, ends, tensors, places, stop, tell);
    };
    const go = () => {
        running.current?.abort();
        setAsked(wanted);
        setError(run ? "" : "No solver trains it yet.");
        if (!run) return;
        const controller = new AbortController();
        running.current = controller;
        setProgress({ done: 0, of: 0 });
        look(run, controller.signal)
            .then(setError, (e: Error) => controller.signal.aborted || setError(e.message))
            .finally(() => controller.signal.aborted || setProgress(undefined));
    };
    const idle = progress === undefined;
    useEffect(() => {
        if (asked !== undefined && asked !== wanted && (idle || !asked.startsWith(`${run?.index} `))) go();
    }, [idle, asked, wanted]);
    const marked = useMemo(() => {
        const [verified, inDispute] = [replayed(events, run?.index ?? -1), disputed(disputes, run?.index ?? -1)];
        return points.map((one): Marked => ({
            ...one,
            standing: inDispute.has(one.segment) ? "disputed" : one.verified || verified.has(one.segment) ? "verified" : "committed",
        }));
    }, [points, events, disputes, run?.index]);
    return (
        <>
            <p class="caption">
                Each checkpoint commits to the numbers of its last step. A point is <strong>verified</strong> if auditors replayed
                its segment and got the same bits; the others are what the solver has <strong>committed</strong> to, and <strong>disputed</strong> if a dispute is
                about them. They are fetched from those who keep the states, and compared with the roots on the ledger; after the first
                time also those that are opened later.
            </p>
            <p>
                <button
                    type="button"
                    disabled={!idle}
                    onClick={() => {
                        forgetFailures();
                        go();
                    }}
                >
                    {points.length ? "Fetch newer metrics" : "Fetch the metrics"}
                </button>{" "}
                {task.runs.length > 1 && (
                    <label>
                        of{" "}
                        <select
                            value={String(run?.index)}
                            onChange={(event) => {
                                setPoints([]);
                                setPicked(Number(event.currentTarget.value));
                            }}
                        >
                            {task.runs.map(({ index, state }) => <option key={index} value={String(index)}>run {index}, {state}</option>)}
                        </select>
                    </label>
                )}{" "}
                {progress && <Bar done={progress.done} of={progress.of} label={`${progress.done} of ${progress.of} checkpoints`} />}{" "}
                <span role="status">{progress && `${count(progress.done)} of ${count(progress.of)} checkpoints`}</span>
            </p>
            {states && !shown.some(({ label }) => label === "loss") && <p>{kNoLoss}</p>}
            {states && <SlotChoice slots={slots} chosen={chosen} choose={setChosen} />}
            {marked.length > 0 && run && <Curves points={marked} slots={shown} task={task} run={run.index} />}
            <ErrorLine text={error} />
        </>
    );
}
