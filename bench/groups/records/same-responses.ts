import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import { OPERATIONS, type Operation } from './operations.ts';

// Values that always differ between two servers.
const GENERATED_FIELDS = new Set(['id', 'createdAt', 'updatedAt']);
// Belfry's cursor, which the baselines do not have.
const CURSOR_FIELD = 'next';

function parseComparable(text: string, isWrite: boolean): unknown {
  return JSON.parse(text, (key, value) =>
    (isWrite && GENERATED_FIELDS.has(key)) || key === CURSOR_FIELD ? undefined : value,
  );
}

/** The beginning and the end of a text. What a page says about itself stands at the end. */
const shorten = (text: string) => (text.length < 500 ? text : `${text.slice(0, 350)} … ${text.slice(-150)}`);

/**
 * Sends one request of each operation to every server.
 *
 * @throws if the responses differ: then one server does less work, and its speed means nothing
 */
export async function assertSameResponses(urls: readonly string[]): Promise<void> {
  for (const name of Object.keys(OPERATIONS) as Operation[]) {
    const { method, path, token, body, status } = OPERATIONS[name](0);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const responses: unknown[] = [];
    for (const url of urls) {
      const response = await request(url + path, { method, headers, body: body ?? null });
      const text = await response.body.text();
      if (response.statusCode !== status)
        throw new Error(`${method} ${path} at ${url} returned ${response.statusCode} instead of ${status}: ${text}`);
      responses.push(parseComparable(text, name === 'create' || name === 'update'));
    }
    if (!responses.every((response) => isDeepStrictEqual(response, responses[0]))) {
      const texts = responses.map((response) => JSON.stringify(response));
      throw new Error(`The servers return different responses to ${name}:\n${texts.map(shorten).join('\n')}`);
    }
  }
}
