import type { CustomFetch } from 'openid-client';
import { assertOutsideTransaction } from '../../../extension/index.ts';

/** Time limit in ms of a request to a provider: connection, headers and body together. */
const TIMEOUT_MS = 10_000;
/** The largest response that is read. Key sets and metadata are a few kilobytes. */
const MAX_BYTES = 1_000_000;
/** How long, in ms, a URL that did not respond is not asked again. */
const RETRY_AFTER_MS = 5000;
const NO_BODY = new Set([204, 205, 304]);

/** A provider did not answer in time, or answered with an error of its own. The user may try again later. */
export class ProviderUnavailableError extends Error {
  override readonly name = 'ProviderUnavailableError';
}

/** Whether an error was caused by a provider that cannot be reached at the moment. */
export function isProviderUnavailable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof ProviderUnavailableError) return true;
  return false;
}

async function readBody(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // The loop cancels the rest of the body if it ends early.
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`the response is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/**
 * Creates the function that sends all requests to one provider. It follows no redirects, because they could send a secret elsewhere.
 *
 * @throws ProviderUnavailableError from the function if there is no complete response, or one with status 429 or 5xx
 */
export function createProviderFetch(): CustomFetch {
  // Metadata and keys, of which there are few URLs. While they cannot be read, every sign-in would wait for the time limit.
  const failedUntil = new Map<string, number>();

  return async (url, options) => {
    const { host } = new URL(url);
    assertOutsideTransaction(`A request to ${host} is sent`);
    const isShared = options.method === 'GET' && !new Headers(options.headers).has('authorization');
    if (isShared && (failedUntil.get(url) ?? 0) > Date.now())
      throw new ProviderUnavailableError(`${host} did not respond a few seconds ago`);
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(url, { ...(options as RequestInit), redirect: 'manual', signal });
      const body = await readBody(response);
      const { status, headers } = response;
      if (status === 429 || status >= 500) throw new Error(`the status is ${status}`);
      failedUntil.delete(url);
      return new Response(NO_BODY.has(status) ? null : body, { status, headers });
    } catch (cause) {
      if (isShared) failedUntil.set(url, Date.now() + RETRY_AFTER_MS);
      throw new ProviderUnavailableError(`${host} did not respond`, { cause });
    }
  };
}
