// SPDX-License-Identifier: MIT
// Writes the bill of materials of the package as SPDX 2.3 JSON: the libraries that the given programs load, by Debian
// package with version and licences as dpkg and the packages' copyright files have them, the headers that are compiled
// in, and the packages of npm in the console.
//   node sbom.mjs --version V --lock package-lock.json --out FILE PROGRAM...
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

const flags = {};
const programs = [];
for (let i = 2; i < process.argv.length; ++i) {
    if (process.argv[i].startsWith("--")) flags[process.argv[i].slice(2)] = process.argv[++i];
    else programs.push(process.argv[i]);
}
if (!flags.version || !flags.lock || !flags.out || programs.length === 0)
    throw new Error("usage: node sbom.mjs --version V --lock package-lock.json --out FILE PROGRAM...");

const run = (program, ...words) =>
    execFileSync(program, words, { encoding: "utf8", env: { ...process.env, LC_ALL: "C" }, stdio: ["ignore", "pipe", "ignore"] });

// Only headers of these are used, so no program loads a library of theirs.
const headerPackages = [/^libboost[0-9.]+-dev$/, /^libcli11-dev$/, /^libtomlplusplus-dev$/];
// What the console is built of; the others of the lock file are tools.
const consolePackages = ["preact", "uplot", "viem"];

// Debian's short names of licences, in small letters, that SPDX spells otherwise.
const spdxNames = {
    "apache-2.0": "Apache-2.0", "boost": "BSL-1.0", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
    "bsl-1.0": "BSL-1.0", "cc0-1.0": "CC0-1.0", "expat": "MIT", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later",
    "gpl-3": "GPL-3.0-only", "gpl-3+": "GPL-3.0-or-later", "isc": "ISC", "lgpl-2.1": "LGPL-2.1-only",
    "lgpl-2.1+": "LGPL-2.1-or-later", "libpng": "Libpng", "mit": "MIT", "zlib": "Zlib",
};

/** "GPL-2 or Apache-2.0" as an expression of SPDX; undefined if a name in it is not known. */
function expression(debianLicence) {
    const names = debianLicence.split(/ or /i).map((name) => spdxNames[name.trim().toLowerCase()]);
    if (names.includes(undefined)) return undefined;
    return names.length === 1 ? names[0] : `(${names.join(" OR ")})`;
}

/** Of a machine-readable copyright file: the licence of most files ("Files: *"), and all names, sorted. */
function licences(debianPackage) {
    const path = `/usr/share/doc/${debianPackage}/copyright`;
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    if (!/^Format:.*copyright-format/m.test(text)) return { all: [] };
    const all = [...text.matchAll(/^License:[ \t]*(\S.*)$/gm)].map((match) => match[1].trim());
    const most = text.split(/\n\s*\n/).find((paragraph) => /^Files:\s*\*\s*$/m.test(paragraph));
    return { most: most?.match(/^License:[ \t]*(\S.*)$/m)?.[1].trim(), all: [...new Set(all)].sort() };
}

const spdxId = (kind, name) => `SPDXRef-${kind}-${name.replace(/[^A-Za-z0-9.-]/g, "-")}`;

function debianEntry(name) {
    const [version, source, architecture] = run("dpkg-query", "-W", "-f", "${Version}\n${source:Package}\n${Architecture}", name).split("\n");
    const found = licences(name.replace(/:.*/, ""));
    return {
        SPDXID: spdxId("Debian", name),
        name,
        versionInfo: version,
        supplier: "Organization: Debian",
        downloadLocation: "NOASSERTION",
        filesAnalyzed: false,
        licenseConcluded: "NOASSERTION",
        licenseDeclared: (found.most && expression(found.most)) ?? "NOASSERTION",
        licenseComments: found.all.length
            ? `Debian's copyright file has ${found.most ?? "no licence"} for most files, and names: ${found.all.join("; ")}`
            : "Debian's copyright file is not machine-readable.",
        copyrightText: "NOASSERTION",
        sourceInfo: `Debian source package ${source}`,
        externalRefs: [{
            referenceCategory: "PACKAGE-MANAGER",
            referenceType: "purl",
            referenceLocator: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`,
        }],
    };
}

/** The installed package that has the file; of a file in /lib, dpkg may know the path below /usr alone, or the other. */
function ownerOf(file) {
    for (const path of new Set([file, realpathSync(file), file.replace(/^\/lib/, "/usr/lib"), file.replace(/^\/usr/, "")])) {
        try {
            return run("dpkg-query", "-S", path).split(":")[0];
        } catch {
            // Not known under this name.
        }
    }
    throw new Error(`${file} belongs to no Debian package; the package cannot depend on it`);
}

const loaded = new Map();  // package -> the programs that load it
for (const program of programs)
    for (const [, file] of run("ldd", program).matchAll(/=> (\/\S+)/g)) {
        const owner = ownerOf(file);
        loaded.set(owner, [...(loaded.get(owner) ?? []), basename(program)]);
    }
const installed = run("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n").split("\n")
    .filter((line) => line.startsWith("installed ")).map((line) => line.slice("installed ".length));
const headers = installed.filter((name) => headerPackages.some((pattern) => pattern.test(name)));

const lock = JSON.parse(readFileSync(flags.lock, "utf8")).packages;
const inConsole = new Map();
const addWithDependencies = (name) => {
    const entry = lock[`node_modules/${name}`];
    if (!entry || inConsole.has(name)) return;
    inConsole.set(name, entry);
    for (const dependency of Object.keys(entry.dependencies ?? {})) addWithDependencies(dependency);
};
consolePackages.forEach(addWithDependencies);
const npmEntry = ([name, entry]) => ({
    SPDXID: spdxId("npm", name),
    name,
    versionInfo: entry.version,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    checksums: [{ algorithm: "SHA512", checksumValue: Buffer.from(entry.integrity.replace("sha512-", ""), "base64").toString("hex") }],
    licenseConcluded: "NOASSERTION",
    licenseDeclared: entry.license ?? "NOASSERTION",
    copyrightText: "NOASSERTION",
    externalRefs: [{
        referenceCategory: "PACKAGE-MANAGER",
        referenceType: "purl",
        referenceLocator: `pkg:npm/${encodeURIComponent(name).replace("%2F", "/")}@${entry.version}`,
    }],
});

const own = {
    SPDXID: "SPDXRef-retrace",
    name: "retrace",
    versionInfo: flags.version,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "MIT",
    licenseDeclared: "MIT",
    copyrightText: "NOASSERTION",
};
const linked = [...loaded.keys()].sort().map(debianEntry);
const compiled = headers.sort().map(debianEntry);
const shown = [...inConsole].sort(([a], [b]) => (a < b ? -1 : 1)).map(npmEntry);
const relation = (kind) => (entry) => ({ spdxElementId: own.SPDXID, relationshipType: kind, relatedSpdxElement: entry.SPDXID });

const time = new Date(Number(process.env.SOURCE_DATE_EPOCH ?? Math.floor(Date.now() / 1000)) * 1000);
const document = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `retrace-${flags.version}`,
    creationInfo: { created: time.toISOString().replace(/\.\d+Z$/, "Z"), creators: ["Tool: retrace-sbom"] },
    packages: [own, ...linked, ...compiled, ...shown],
    relationships: [
        { spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: own.SPDXID },
        ...linked.map(relation("DYNAMIC_LINK")),
        ...compiled.map(relation("STATIC_LINK")),
        ...shown.map(relation("CONTAINS")),
    ],
};
// Its name is that of its contents.
const digest = createHash("sha256").update(JSON.stringify(document)).digest("hex");
document.documentNamespace = `urn:sha256:${digest}`;
writeFileSync(flags.out, JSON.stringify(document, null, 2) + "\n");
