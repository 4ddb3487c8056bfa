import { after as afterNodeTests } from 'node:test';

type Hook = (close: () => Promise<void>) => void;

/** The hooks of vitest. Its name is not a literal, because Belfry does not depend on vitest. */
async function findVitestHooks(): Promise<{ afterAll: Hook; onTestFinished: Hook } | undefined> {
  const name = 'vitest';
  try {
    return await import(name);
  } catch {
    // A package manager may hide vitest from this package. Then the test closes the app itself.
    return undefined;
  }
}

/**
 * Registers a function that runs after the tests of the current file, or after the current test if it is called within one. Works with
 * vitest and `node --test`; with other runners, and within a hook such as `beforeAll`, it does nothing.
 */
export async function closeAfterTests(close: () => Promise<void>): Promise<void> {
  if (process.env.NODE_TEST_CONTEXT !== undefined) return afterNodeTests(close);
  if (process.env.VITEST === undefined) return;
  const hooks = await findVitestHooks();
  if (hooks === undefined) return;
  try {
    // Throws outside of a test.
    hooks.onTestFinished(close);
  } catch {
    hooks.afterAll(close);
  }
}
