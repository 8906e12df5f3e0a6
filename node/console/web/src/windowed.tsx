// SPDX-License-Identifier: MIT
// A table of very many rows that scrolls by itself: only those that can be seen are elements of the page.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { count } from "./format";
import { type Columns, HeadCells, Table } from "./parts";

const kRowPixels = 28; // .windowed td in style.css
const kBeyond = 12; // rows above and below what can be seen
const kStep = 6; // rows by which the window moves at once
const kRowsMax = 1_000_000; // browsers limit the height of an element
const kPlainMax = 100; // rows of a table that are all elements of the page
const kNothing = () => undefined;

/** `cells` of a row, undefined while it is not known; `look` is told which rows are wanted. */
export function WindowedTable({ label, head, total, cells, look, empty }: {
    label: string;
    head: Columns;
    total: number;
    cells: (row: number) => ComponentChildren | undefined;
    look: (first: number, last: number) => void;
    empty: string;
}) {
    const box = useRef<HTMLDivElement>(null);
    const [first, setFirst] = useState(0);
    const [seen, setSeen] = useState(20);
    const rows = Math.min(total, kRowsMax);
    useEffect(() => {
        const element = box.current;
        if (!element) return undefined;
        const measure = () => setSeen(Math.ceil(element.clientHeight / kRowPixels));
        const observer = new ResizeObserver(measure);
        observer.observe(element);
        measure();
        return () => observer.disconnect();
    }, []);
    const scrolled = () => setFirst(Math.floor((box.current?.scrollTop ?? 0) / kRowPixels / kStep) * kStep);
    const from = Math.max(0, Math.min(first, rows - seen) - kBeyond);
    const to = Math.min(rows, first + seen + kStep + kBeyond);
    useEffect(() => look(from, to), [from, to, look]);
    const gap = (many: number, key: string) => many > 0 && <tr key={key} aria-hidden="true" style={{ height: `${many * kRowPixels}px` }} />;
    return (
        <>
            <div ref={box} class="scroll windowed" tabIndex={0} role="group" aria-label={label} onScroll={scrolled}>
                <table aria-rowcount={rows + 1}>
                    <thead>
                        <tr aria-rowindex={1}><HeadCells of={head} /></tr>
                    </thead>
                    <tbody>
                        {gap(from, "above")}
                        {Array.from({ length: Math.max(0, to - from) }, (_, i) => (
                            <tr key={from + i} aria-rowindex={from + i + 2}>
                                {cells(from + i) ?? <td colSpan={head.length} class="dim">…</td>}
                            </tr>
                        ))}
                        {gap(rows - to, "below")}
                        {rows === 0 && (
                            <tr>
                                <td colSpan={head.length} class="dim">
                                    {empty}
                                </td>
                            </tr>
                        )}
                    </tbody>
                </table>
            </div>
            {total > rows && <p class="caption">and {count(total - rows)} older ones, which search finds</p>}
        </>
    );
}

/** A list that may have any number of rows: a short one as a plain table, a long one windowed. `cells` are those of a row. */
export function LongTable<T>({ label, head, rows, cells, keyOf, empty = "" }: {
    label: string;
    head: Columns;
    rows: T[];
    cells: (row: T) => ComponentChildren;
    keyOf: (row: T, index: number) => string | number;
    empty?: string;
}) {
    if (rows.length > kPlainMax)
        return <WindowedTable label={label} head={head} total={rows.length} cells={(at) => cells(rows[at] as T)} look={kNothing} empty={empty} />;
    return (
        <Table label={label} head={head} empty={rows.length === 0 && empty}>
            {rows.map((row, i) => <tr key={keyOf(row, i)}>{cells(row)}</tr>)}
        </Table>
    );
}
