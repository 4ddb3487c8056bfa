// Requests the examples of docs/build/aggregates.md exactly as written, from the resource that the page declares.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DATE_UNITS } from '../../../src/declare/aggregate.ts';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { DEFAULT_GROUPS, MAX_AGGREGATES, MAX_GROUP_TERMS, MAX_GROUPS } from '../../../src/records/aggregate/parse.ts';
import { startTestApp } from '../../support/app.ts';

const page = readFileSync(new URL('../../../docs/build/aggregates.md', import.meta.url), 'utf8');
const [, source] = /export const ticket = ([\s\S]*?;)\n```/.exec(page)!;
const declare = new Function('defineResource', 'f', `return ${source}`);
const { app, call } = await startTestApp({
  resources: [defineUser(), declare(defineResource, f) as ReturnType<typeof defineResource>],
});
const tickets = (app.service as (name: string) => ReturnType<typeof app.service>)('ticket');
const dueAt = '2026-10-25T00:30:00Z';
for (const [status, hours] of [
  ['closed', 3.5],
  ['closed', 4],
  ['open', 2.5],
  ['open', 4],
  ['open', 6],
] as const)
  await tickets.create({ title: 'Bell', status, hours, dueAt } as never);

const examples = [...page.matchAll(/^GET (\/api\/\S+)$/gm)].map((match) => match[1]!);

test('the page has examples', () => expect(examples.length).toBeGreaterThan(5));

test.each(examples)('GET %s works as documented', async (path) => {
  const { status, body } = await call('GET', path);
  expect([status, body.error]).toEqual([200, undefined]);
});

test('the response of the first example is the documented one, in the current month', async () => {
  const [, documented] = /```json\n([\s\S]*?)```/.exec(page)!;
  const { body } = await call('GET', examples[0]!);
  const month = new Date().toISOString().slice(0, 7);
  expect(body).toEqual(JSON.parse(documented!.replaceAll('2026-11', month)));
});

test('the documented names of buckets are those of responses', async () => {
  for (const unit of DATE_UNITS) {
    const [, name] = new RegExp(`\\| \`${unit}\\(dueAt\\)\` \\| \`([^\`]+)\``).exec(page)!;
    const { body } = await call('GET', `/api/tickets/aggregate?group=${unit}(dueAt)&timeZone=Europe/Berlin`);
    expect(body.data).toEqual([{ group: { [`${unit}(dueAt)`]: name }, count: 5 }]);
  }
});

test('the documented limits are those of the code', () => {
  for (const words of [
    `| terms of \`group\` | ${MAX_GROUP_TERMS} |`,
    `| aggregates in a query | ${MAX_AGGREGATES} |`,
    `| groups in a response | ${MAX_GROUPS.toLocaleString('en')} |`,
    `| \`limit\` | ${DEFAULT_GROUPS} |`,
  ])
    expect(page).toContain(words);
});
