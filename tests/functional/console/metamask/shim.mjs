// SPDX-License-Identifier: MIT
// What bundles for a browser bring of Node.js for readable-stream.
export const process = { env: {}, nextTick: (call, ...args) => queueMicrotask(() => call(...args)), version: "", browser: true };
