// SPDX-License-Identifier: MIT
// Curves by uPlot. What is no finite number is a gap, and many points are thinned to what the width can show.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { figure } from "./format";
import { useWidth } from "./hooks";

export interface Series {
    name: string;
    /** One for each x; anything but a finite number is a gap. */
    values: ArrayLike<number | null>;
    points?: boolean;
    filled?: boolean;
    step?: boolean;
    /** The line goes on over gaps. */
    spans?: boolean;
}

/** Of each bucket of points the lowest and the highest of each series stay, so no peak is lost. */
export function thin(x: ArrayLike<number>, series: Series[], most: number): [number[], (number | null)[][]] {
    const clean = (value: number | null | undefined) => (Number.isFinite(value) ? (value as number) : null);
    const n = x.length;
    if (n <= most)
        return [Array.from(x), series.map(({ values }) => Array.from({ length: n }, (_, i) => clean(values[i])))];
    const keep = new Set<number>([0, n - 1]);
    const buckets = Math.max(1, Math.floor(most / (2 * Math.max(1, series.length))));
    for (const { values } of series) {
        for (let b = 0; b < buckets; b++) {
            let low = -1;
            let high = -1;
            for (let i = Math.floor((b * n) / buckets); i < Math.floor(((b + 1) * n) / buckets); i++) {
                const value = values[i];
                if (!Number.isFinite(value)) continue;
                if (low < 0 || (value as number) < (values[low] as number)) low = i;
                if (high < 0 || (value as number) > (values[high] as number)) high = i;
            }
            if (low >= 0) keep.add(low).add(high);
        }
    }
    const at = [...keep].sort((a, b) => a - b);
    return [at.map((i) => x[i] as number), series.map(({ values }) => at.map((i) => clean(values[i])))];
}

const kColours = ["--line-1", "--line-2", "--line-3", "--line-4"];

export function Chart({ label, x, xName, series, height = 200, log }: {
    label: string;
    x: ArrayLike<number>;
    xName: string;
    series: Series[];
    height?: number;
    log?: boolean;
}) {
    const [box, width] = useWidth();
    const plot = useRef<uPlot>();
    const key = `${width} ${height} ${log} ${series.map((s) => s.name).join("\n")}`;
    useEffect(() => {
        const element = box.current;
        if (!element || width < 50) return undefined;
        const style = getComputedStyle(document.documentElement);
        const colour = (name: string) => style.getPropertyValue(name).trim();
        const axis = {
            stroke: colour("--dim"),
            grid: { stroke: colour("--rule"), width: 1 },
            ticks: { stroke: colour("--rule"), width: 1 },
            font: "11px system-ui, sans-serif",
        };
        plot.current = new uPlot(
            {
                width,
                height,
                legend: { live: true },
                cursor: { drag: { x: true, y: false } },
                scales: { x: { time: false }, y: log ? { distr: 3 } : {} },
                axes: [
                    { ...axis, label: xName, labelSize: 18, labelFont: axis.font, size: 30 },
                    { ...axis, size: 58, values: (_, ticks) => ticks.map((t) => (t === null ? "" : figure(t))) },
                ],
                series: [
                    { label: xName },
                    ...series.map((s, i) => ({
                        label: s.name,
                        stroke: colour(kColours[i % kColours.length] as string),
                        width: s.points ? 0 : 1.5,
                        spanGaps: Boolean(s.spans),
                        points: { show: Boolean(s.points), size: 6, ...(s.filled ? { fill: colour(kColours[i % kColours.length] as string) } : {}) },
                        paths: s.points ? () => null : s.step ? uPlot.paths.stepped?.({ align: 1 }) : undefined,
                        value: (_: uPlot, v: number | null) => (v === null ? "–" : figure(v)),
                    })),
                ],
            },
            [[]],
            element,
        );
        return () => {
            plot.current?.destroy();
            plot.current = undefined;
        };
    }, [key]);
    useEffect(() => {
        const [xs, ys] = thin(x, series, Math.max(200, 3 * width));
        const positive = log ? ys.map((values) => values.map((v) => (v !== null && v > 0 ? v : null))) : ys;
        plot.current?.setData([xs, ...positive] as uPlot.AlignedData);
    }, [key, x, series]);
    const last = (s: Series) => {
        for (let i = s.values.length - 1; i >= 0; i--) if (Number.isFinite(s.values[i])) return figure(s.values[i] as number);
        return "no value";
    };
    const summary = `${label}: ${x.length} points; ${series.map((s) => `${s.name} is ${last(s)} at the end`).join(", ")}`;
    return <div ref={box} class="chart" role="img" aria-label={summary} />;
}
