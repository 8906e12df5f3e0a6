// SPDX-License-Identifier: MIT
// Calls and events of the native contracts, by the interfaces that the node tells.
import { type Abi, decodeEventLog, decodeFunctionData, encodeEventTopics, encodeFunctionData, type Hex } from "viem";
import type { Contract, Log, Tx } from "./records";

const abiOf = (contract: Contract): Abi => contract.abi as Abi;

export const contractNamed = (contracts: Contract[], name: string) => contracts.find((one) => one.name === name);
export const contractAt = (contracts: Contract[], address: string | null) =>
    contracts.find((one) => one.address.toLowerCase() === address?.toLowerCase());

export interface Decoded {
    name: string;
    arguments: [name: string, value: unknown][];
}

function named(inputs: readonly { name?: string }[] | undefined, values: unknown): [string, unknown][] {
    if (Array.isArray(values)) return values.map((value, i) => [inputs?.[i]?.name || String(i), value]);
    return Object.entries((values ?? {}) as object);
}

/** The call of a transaction; null if it calls no native contract or is none of its calls. */
export function callOf(contracts: Contract[], tx: Pick<Tx, "to" | "input">): Decoded | null {
    const contract = contractAt(contracts, tx.to);
    if (!contract || tx.input === "0x") return null;
    try {
        const { functionName, args } = decodeFunctionData({ abi: abiOf(contract), data: tx.input as Hex });
        const entry = abiOf(contract).find((one) => one.type === "function" && one.name === functionName);
        return { name: functionName, arguments: named(entry?.type === "function" ? entry.inputs : undefined, args ?? []) };
    } catch {
        return null;
    }
}

export function eventOf(contracts: Contract[], log: Log): Decoded | null {
    const contract = contractAt(contracts, log.address);
    if (!contract) return null;
    try {
        const decoded = decodeEventLog({ abi: abiOf(contract), data: log.data as Hex, topics: log.topics as [Hex, ...Hex[]] });
        return { name: decoded.eventName ?? "", arguments: named(undefined, decoded.args) };
    } catch {
        return null;
    }
}

export function topicOf(contract: Contract, event: string): string {
    return encodeEventTopics({ abi: abiOf(contract), eventName: event })[0] as string;
}

export const encodeCall = (abi: Abi, method: string, args: unknown[]): Hex => encodeFunctionData({ abi, functionName: method, args });
