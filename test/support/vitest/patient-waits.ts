// Waits for a condition end as soon as it holds. On a busy machine that takes longer than the second that Vitest waits by default.
import { vi } from 'vitest';

const TIMEOUT_MS = 30_000;

for (const name of ['waitUntil', 'waitFor'] as const) {
  // This file runs again for each test file of a process.
  if (vi[name].name === 'waitPatiently') continue;
  const wait = vi[name].bind(vi) as typeof vi.waitFor;
  const waitPatiently: typeof vi.waitFor = (condition, options) =>
    wait(condition, typeof options === 'number' ? options : { timeout: TIMEOUT_MS, ...options });
  Object.assign(vi, { [name]: waitPatiently });
}
