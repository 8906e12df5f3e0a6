// SPDX-License-Identifier: MIT
// Verifiers: stake, what they have audited, and how quickly.
import { useEffect, useRef, useState } from "preact/hooks";
import { type AuditorRecords, nothingRead, readAuditorsNow } from "../auditors";
import { count } from "../format";
import { Address, BlockLink, Coins, ErrorLine } from "../parts";
import type { Verifier } from "../records";
import { LongTable } from "../windowed";
import { speed } from "../work";

const kBlocks = 5; // between two looks

function useAuditors(height: number): { known: AuditorRecords | undefined; error: string } {
    const read = useRef(nothingRead());
    const busy = useRef(false);
    const [known, setKnown] = useState<AuditorRecords>();
    const [error, setError] = useState("");
    const epoch = Math.floor(height / kBlocks);
    useEffect(() => {
        if (busy.current || height === 0) return;
        busy.current = true;
        readAuditorsNow(read.current)
            .then(
                (found) => {
                    setKnown({ ...found });
                    setError("");
                },
                (e: Error) => setError(e.message),
            )
            .finally(() => {
                busy.current = false;
            });
    }, [epoch]);
    return { known, error };
}

export function Verifiers({ list, height }: { list: Verifier[]; height: number }) {
    const { known, error } = useAuditors(height);
    const of = (verifier: string) => known?.records.get(verifier.toLowerCase());
    return (
        <>
            <LongTable
                label="Verifiers"
                head={[["verifier"], ["measured speed", "num"], ["staked", "num"], ["weight", "num"], ["audits", "num"], ["missed", "num"], ["verdicts", "num"], ["late", "num"],
                    ["disputes", "num"], ["wrong", "num"]]}
                empty="No verifier takes part: no segment can be audited."
                rows={list}
                keyOf={(one) => one.verifier}
                cells={(one) => {
                    const record = of(one.verifier);
                    return (
                        <>
                            <td><Address of={one.verifier} /></td>
                            <td class="num">{speed(record && record.blocks > 0 ? record.work / record.blocks : 0)}</td>
                            <td class="num"><Coins of={one.stake.bonded} /></td>
                            <td class="num"><Coins of={one.info.weight} /></td>
                            <td class="num">{count(one.info.audits)}</td>
                            <td class="num">{count(one.info.missed)}</td>
                            <td class="num">{known ? count(record?.verdicts ?? 0) : "–"}</td>
                            <td class="num">{known ? count(record?.late ?? 0) : "–"}</td>
                            <td class="num">{known ? count(record?.disputes ?? 0) : "–"}</td>
                            <td class="num">{known ? count(record?.wrong ?? 0) : "–"}</td>
                        </>
                    );
                }}
            />
            {known && list.length > 0 && (
                <p class="caption">
                    Audits are those that were paid, missed are seats and reveals of the beacon, both since it registered. The rest is counted from block{" "}
                    <BlockLink of={known.from} /> on: verdicts; those that were slashed as late or hidden; disputes that it opened, and those that it lost, in
                    which its result was wrong. Speed is the work of the audited segments by the blocks from a draw to the verdict; one that copies a
                    colluding solver's result looks quick.
                </p>
            )}
            <ErrorLine text={error} />
        </>
    );
}
