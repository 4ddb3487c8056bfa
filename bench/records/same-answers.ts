import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import { OPERATIONS, type Operation } from './operations.ts';

// What two servers make of the same request differs in these by nature.
const OWN = new Set(['id', 'createdAt', 'updatedAt']);
// Belfry's cursor: more than the baselines give.
const MORE = 'next';

function comparable(text: string, written: boolean): unknown {
  return JSON.parse(text, (key, value) => ((written && OWN.has(key)) || key === MORE ? undefined : value));
}

/**
 * Sends one request of each operation to every server.
 *
 * @throws when the answers are not the same: then one of them does less, and its speed says nothing
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
