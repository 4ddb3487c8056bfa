import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import { OPERATIONS, type Operation } from './operations.ts';

// Values that always differ between two servers.
const OWN = new Set(['id', 'createdAt', 'updatedAt']);
// Belfry's cursor, which the baselines do not have.
const MORE = 'next';

function comparable(text: string, written: boolean): unknown {
  return JSON.parse(text, (key, value) => ((written && OWN.has(key)) || key === MORE ? undefined : value));
}

/**
 * Sends one request of each operation to every server.
 *
 * @throws if the responses differ: then one server does less work, and its speed means nothing
 */
export async function assertSameAnswers(urls: readonly string[]): Promise<void> {
  for (const name of Object.keys(OPERATIONS) as Operation[]) {
    const { method, path, token, body, status } = OPERATIONS[name](0);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answers: unknown[] = [];
    for (const url of urls) {
      const answer = await request(url + path, { method, headers, body: body ?? null });
      const text = await answer.body.text();
      if (answer.statusCode !== status) throw new Error(`${method} ${path} at ${url}: ${answer.statusCode} ${text}`);
      answers.push(comparable(text, name === 'create' || name === 'update'));
    }
    if (!answers.every((answer) => isDeepStrictEqual(answer, answers[0]))) {
      throw new Error(`the servers answer ${name} differently: ${JSON.stringify(answers, null, 2)}`);
    }
  }
}
