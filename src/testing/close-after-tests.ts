import { after as afterNodeTests } from 'node:test';

type Hook = (close: () => Promise<void>) => void;

/** The hooks of a test runner. */
interface Hooks {
  afterAll: Hook;
  /** Throws outside of a test. */
  onTestFinished?: Hook;
}

/** Returns the hooks of vitest, or those that the runner has put into the global scope; undefined if there are none. */
async function findHooks(): Promise<Hooks | undefined> {
  if (process.env.VITEST !== undefined) {
    // Not a literal, because Belfry does not depend on vitest.
    const name = 'vitest';
    try {
      return await import(name);
    } catch {
      // A package manager may hide vitest from this package.
    }
  }
  const globals = globalThis as Partial<Hooks>;
  return globals.afterAll === undefined ? undefined : (globals as Hooks);
}

/**
 * Registers a function that runs after the tests of the current file, or after the current test if it is called within one. Works with
 * vitest, `node --test` and runners with a global `afterAll`. Within a hook such as `beforeAll`, it may do nothing.
 */
export async function closeAfterTests(close: () => Promise<void>): Promise<void> {
  if (process.env.NODE_TEST_CONTEXT !== undefined) return afterNodeTests(close);
  const hooks = await findHooks();
  try {
    if (hooks?.onTestFinished !== undefined) return hooks.onTestFinished(close);
  } catch {
    // The call is not within a test.
  }
  try {
    hooks?.afterAll(close);
  } catch {
    // Some runners refuse hooks within a test. Then the test closes the app itself.
  }
}
