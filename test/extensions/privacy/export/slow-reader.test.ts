import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f, privacy } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { readZip } from '../../../support/zip.ts';
import { finished, hereOf } from './app.ts';

const STALL_MS = 1500;
const diary = defineResource('diary', { fields: { text: f.text(), author: f.ref('user').owner() } });
const { app, person, url } = await startTestApp(
  {
    resources: [defineUser(), diary],
    extensions: [privacy()],
    settings: { http: { stallMs: STALL_MS } },
  },
  { roles: 'all' },
);

test('a client that reads slowly receives the whole export, even if it takes longer than the stall limit', {
  timeout: 120_000,
}, async () => {
  const ada = await person('Ada');
  // Random bytes do not compress, so the file is larger than the kernel buffers for a client that does not read.
  const texts = Array.from({ length: 150 }, () => randomBytes(60_000).toString('base64'));
  for (const text of texts) await app.service('diary').create({ text, author: ada.id });
  const link = (await finished(ada.call)).url;

  const sent = get(hereOf(link, url), { agent: false });
  const [response] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  const startedAt = performance.now();
  for await (const chunk of response) {
    chunks.push(chunk);
    if (performance.now() - startedAt < 2 * STALL_MS) await sleep(50);
  }
  const lines = readZip(Buffer.concat(chunks)).get('records/diaries.ndjson')!.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).text).toSorted()).toEqual(texts.toSorted());
});
