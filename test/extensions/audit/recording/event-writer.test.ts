import { expect, test, vi } from 'vitest';
import { type AuditEventPayload, createEventWriter } from '../../../../src/extensions/audit/recording/event-writer.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';

/** Creates a writer whose database fails on demand. */
function writing(failure: (names: string[]) => (Error & { code?: string }) | undefined) {
  const written: string[][] = [];
  const database = {
    async write({ values }: { values: unknown[] }) {
      const names = (values[2] as string[]).map((text) => JSON.parse(text).action);
      const error = failure(names);
      if (error !== undefined) throw error;
      written.push(names);
      return [];
    },
  };
  const wake = { hint: vi.fn() };
  const writer = createEventWriter({ database, wake, log: createLogger('silent', 'test') } as never);
  return { writer, written, add: (action: string) => writer.add({ action } as AuditEventPayload) };
}

test('events of one tick are written in one statement, and later ones in the next', async () => {
  const { writer, written, add } = writing(() => undefined);
  for (const name of ['a', 'b', 'c']) add(name);
  await Promise.resolve();
  add('d');
  await writer.stop();
  expect(written).toEqual([['a', 'b', 'c'], ['d']]);
});

test('during a database outage the writer keeps 10,000 events and writes them afterwards', async () => {
  let away = true;
  const { writer, written, add } = writing(() =>
    away ? Object.assign(new Error('gone'), { code: 'ECONNREFUSED' }) : undefined,
  );
  for (let i = 0; i < 10_100; i++) add(`${i}`);
  await Promise.resolve();
  away = false;
  await vi.waitFor(() => expect(written.flat()).toHaveLength(10_000), { timeout: 60_000, interval: 25 });
  expect(written.flat().at(-1)).toBe('9999');
  add('later');
  await writer.stop();
  expect(written.flat().at(-1)).toBe('later');
});

test('an event that the database refuses is dropped without affecting others', async () => {
  const { writer, written, add } = writing((names) =>
    names.includes('bad') ? Object.assign(new Error('refused'), { code: '22P05' }) : undefined,
  );
  for (const name of ['a', 'b', 'bad', 'c', 'd']) add(name);
  await vi.waitFor(() => expect(written.flat()).toEqual(['a', 'b', 'c', 'd']), { timeout: 60_000, interval: 5 });
  await writer.stop();
});
