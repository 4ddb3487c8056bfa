import { expect, test } from 'vitest';
import type { SlowRequest } from '../../../../src/platform/work/processes/facts.ts';
import { createSlowLog } from '../../../../src/platform/work/processes/slow-log.ts';

const create = () => createSlowLog({ requestMs: 500, statementMs: 200 });

const request = (ms: number): SlowRequest => ({
  at: new Date(ms).toISOString(),
  method: 'GET',
  route: '/api/posts',
  status: 200,
  ms,
  requestId: `request-${ms}`,
  statements: 1,
  postgresMs: 1,
});

test('statements are kept without their values', () => {
  const log = create();
  log.addStatement("select * from t where pin = 4711 and name = E'it\\'s a secret'", 300, 1);
  log.addStatement("select * from t where pin = 4712 and name = 'another'", 300, 1);
  expect(log.entries().statements).toMatchObject([{ text: 'select * from t where pin = ? and name = ?', calls: 2 }]);
});

test('runs of a statement are added up, and the statements that took the most time are kept', () => {
  const log = create();
  for (let i = 0; i < 300; i++) log.addStatement(`select * from table_${i}x`, i === 7 ? 9000 : 200 + i, 2);
  log.addStatement('select * from table_7x', 1000, 3);
  const { statements } = log.entries();
  expect(statements.length).toBeLessThanOrEqual(30);
  expect(statements[0]).toMatchObject({
    text: 'select * from table_7x',
    calls: 2,
    totalMs: 10_000,
    maxMs: 9000,
    rows: 5,
  });
});

test('however many requests are slow, the newest and the slowest are kept', () => {
  const log = create();
  for (let i = 1; i <= 1000; i++) log.addRequest(request(i % 2 === 0 ? i : 2000 - i));
  const { newest, slowest } = log.entries();
  expect(newest).toHaveLength(40);
  expect(newest[0]!.ms).toBe(1000);
  expect(slowest.map(({ ms }) => ms)).toEqual(Array.from({ length: 20 }, (_, i) => 1999 - 2 * i));
});

test('entries are returned as changes once, and can be deleted', () => {
  const log = create();
  expect(log.takeChanges()).toBeUndefined();
  log.addRequest(request(700));
  expect(log.takeChanges()?.newest).toHaveLength(1);
  expect(log.takeChanges()).toBeUndefined();
  log.clear();
  expect(log.takeChanges()).toEqual({ newest: [], slowest: [], statements: [] });
});
