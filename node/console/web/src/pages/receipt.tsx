// SPDX-License-Identifier: MIT
// The receipt of a task: one to save, and a check of one that somebody gave.
import { useState } from "preact/hooks";
import { count, num, tame } from "../format";
import { ErrorLine, FileField, Panel } from "../parts";
import { compare, type Line, parseReceipt, receiptOf } from "../receipt";
import type { Task } from "../records";

const kBytesMax = 16 << 20;

function save(name: string, text: string) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function ReceiptPanel({ task }: { task: Task }) {
    const id = num(task.task.id);
    const [lines, setLines] = useState<Line[]>();
    const [error, setError] = useState("");
    const [saved, setSaved] = useState("");
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
            const receipt = await receiptOf(id);
            save(`receipt-${id}.json`, JSON.stringify(receipt));
            setSaved(`${count(receipt.states.length)} states, ${count(receipt.audits.length)} audits`);
        });
    const check = (file: File) =>
        attempt(async () => {
            if (file.size > kBytesMax) throw new Error("A receipt has at most 16 MiB.");
            const given = parseReceipt(await file.text());
            if (given.task !== id) throw new Error(`This is the receipt of task ${given.task}.`);
            setLines(compare(given, await receiptOf(id, given.solver)));
        });
    const wrong = lines?.filter((line) => !line.ok).length ?? 0;
    return (
        <Panel title="Receipt">
            <p class="caption">
                It names the program, the data and every opened state of the training by its root, and who audited what. The model itself is
                fetched from those who keep it, and its tiles are compared with the root, by <code>retrace task fetch</code>.
            </p>
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
                        <strong>{wrong === 0 ? "It agrees with the ledger, as this node tells it." : `${wrong} of ${lines.length} parts differ from the ledger.`}</strong>
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
