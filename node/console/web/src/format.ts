// SPDX-License-Identifier: MIT
// Values of the RPC as text. Everything here takes what a node may send, also what it should not.

/** A quantity ("0x1f") or a number; NaN if it is neither. */
export function num(value: unknown): number {
    if (typeof value === "number") return value;
    if (typeof value === "string" && /^0x[0-9a-f]+$/i.test(value)) return Number(BigInt(value));
    return NaN;
}

export function big(value: unknown): bigint {
    if (typeof value === "string" && /^0x[0-9a-f]+$/i.test(value)) return BigInt(value);
    return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : 0n;
}

export const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

const kUnit = 10n ** 18n;

/** Coins with at most six decimals; the whole value is in the title of <Coins>. */
export function coins(value: unknown): string {
    const wei = big(value);
    const whole = wei / kUnit;
    const micro = (wei % kUnit) / 10n ** 12n;
    const decimals = micro.toString().padStart(6, "0").replace(/0+$/, "");
    if (wei !== 0n && whole === 0n && micro === 0n) return "< 0.000001";
    return decimals ? `${group(whole.toString())}.${decimals}` : group(whole.toString());
}

/** The exact number of coins, without groups of digits, as a form takes it and `parseCoins` reads it. */
export function exactCoins(value: unknown): string {
    const digits = big(value).toString().padStart(19, "0");
    return `${digits.slice(0, -18)}.${digits.slice(-18)}`.replace(/\.?0+$/, "");
}

/** The exact number of coins of a text like "1.5"; null if it is none. */
export function parseCoins(text: string): bigint | null {
    const match = /^(\d{1,12})(?:\.(\d{1,18}))?$/.exec(text.trim());
    if (!match) return null;
    return BigInt(match[1] ?? "0") * kUnit + BigInt((match[2] ?? "").padEnd(18, "0"));
}

function group(digits: string): string {
    return digits.replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function count(value: unknown): string {
    const n = num(value);
    return Number.isFinite(n) ? group(Math.trunc(n).toString()) : "–";
}

/** "1 segment", "2 segments" */
export const many = (value: unknown, what: string) => `${count(value)} ${what}${num(value) === 1 ? "" : "s"}`;

/** A number of a measurement: four significant digits. NaN and infinity by name. */
export function figure(value: number): string {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-4) return value.toExponential(3);
    return String(Number(value.toPrecision(4)));
}

export function bytes(n: number): string {
    if (!Number.isFinite(n)) return "–";
    if (n < 1024) return `${n} B`;
    if (n < 1024 ** 2) return `${figure(n / 1024)} KiB`;
    return n < 1024 ** 3 ? `${figure(n / 1024 ** 2)} MiB` : `${figure(n / 1024 ** 3)} GiB`;
}

export const short = (hash: string, digits = 6): string =>
    hash.length > 2 * digits + 3 ? `${hash.slice(0, digits + 2)}…${hash.slice(-4)}` : hash;

/** Controls, what changes the direction of writing, and what is not seen or hides in a letter (RFC 8264, Unicode's TR36). */
const kUnseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Marks above one letter, without end they would cover other lines. */
const kStacked = /(\p{M}{2})\p{M}+/gu;

/** A text of a stranger, on one line, without what changes the direction of writing or is not seen. */
export function tame(text: unknown, most = 80): string {
    const clean = String(text).replace(kUnseen, "\ufffd").replace(kStacked, "$1");
    const letters = [...clean];
    return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : clean;
}

/** "3 min 12 s" */
export function duration(seconds: number): string {
    if (!Number.isFinite(seconds)) return "–";
    const s = Math.max(0, Math.round(seconds));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
    return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export function time(seconds: unknown): string {
    const n = num(seconds);
    if (!Number.isFinite(n) || n <= 0 || n > 8.64e12) return "–";
    return new Date(n * 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

/** The fp32 number of 32 bits. */
export function float(bits: number): number {
    const view = new DataView(new ArrayBuffer(4));
    view.setUint32(0, bits >>> 0);
    return view.getFloat32(0);
}

const kWords: { [slug: string]: string } = {
    clear: "verified",
    solver_lost: "solver lost",
    challenger_lost: "challenger lost",
};
export const words = (slug: unknown): string => kWords[String(slug)] ?? String(slug ?? "–").replaceAll("_", " ");

/** Hands a file to the person. */
export function save(name: string, content: string | Blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
