// Both builds of @belfry/verify-webhook, for tests that must hold for each.
import { createContext, runInContext } from 'node:vm';
import { transformSync } from 'esbuild';
import * as source from '../../../packages/verify-webhook/src/index.ts';
import { bundleVerifyWebhook } from '../../../scripts/package/bundle-verify-webhook.ts';

/** The exports of a build. */
export type VerifyWebhookBuild = Pick<typeof source, 'verifyWebhook' | 'WebhookVerificationError'>;

// What a context lacks, apart from the language's own globals. Bytes are shared, so that `instanceof` holds for those of the tests.
const GLOBALS = { TextDecoder, TextEncoder, atob, btoa, Uint8Array };

/** Evaluates a module that imports nothing, in a context that has only the globals of the language and a few web APIs. */
function evaluateWithoutNode(code: string): VerifyWebhookBuild {
  const script = transformSync(code, { format: 'iife', globalName: 'build' }).code;
  const context = createContext({ ...GLOBALS });
  return runInContext(`${script}\nbuild`, context);
}

/** For `describe.each`: the name and the exports of each build. */
export const verifyWebhookBuilds: [name: string, build: VerifyWebhookBuild][] = [
  ['with node:crypto', source],
  ['for browsers, without a global of Node', evaluateWithoutNode(bundleVerifyWebhook())],
];
