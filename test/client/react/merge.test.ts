import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changeInList, changeView, mergeRecord } from '../../../packages/client/src/react/merge.ts';
import type { PendingChange } from '../../../packages/client/src/react/pending-changes.ts';
import type { AnyRecord } from '../../../packages/client/src/react/resource.ts';

const { applyToList } = changeView;
const OLD = '2026-01-01T00:00:00.000Z';
const NEW = '2026-01-02T00:00:00.000Z';
const ada = { id: 'a', name: 'Ada' };

const update = (recordId: string, changes: object, confirmed?: AnyRecord): PendingChange => ({
  ...{ userId: null, path: '/posts', op: 'update', recordId, changes: { ...changes } },
  confirmed: confirmed && { record: confirmed },
});

test('pending updates are shown in their order, and only in the fields that the query returns', () => {
  const records: AnyRecord[] = [
    { id: '1', title: 'A', views: 1 },
    { id: '2', title: 'B', views: 2 },
  ];
  const changes = [update('1', { title: 'B', secret: 'x' }), update('1', { title: 'C', views: null })];
  expect(applyToList(records, changes, { fields: ['title', 'views'] })).toEqual([{ id: '1', title: 'C' }, records[1]]);
  // Without a change that concerns the list, it stays the same object, so that nothing renders again.
  expect(applyToList(records, [update('3', { title: 'D' })], {})).toBe(records);
});

test('a record stays in a list whose filter has the same text in composed or decomposed letters, as on the server', () => {
  const records: AnyRecord[] = [{ id: '1', name: 'x' }];
  const change = update('1', { name: 're\u0301sume\u0301' });
  expect(applyToList(records, [change], { where: { name: 'r\u00e9sum\u00e9' } })).toHaveLength(1);
  expect(applyToList(records, [change], { where: { name: { ne: 'r\u00e9sum\u00e9' } } })).toHaveLength(1);
  expect(applyToList(records, [change], { where: { name: 'resume' } })).toEqual([]);
});

test('dates are shown as responses contain them, and an expanded reference stays if it does not change', () => {
  const records: AnyRecord[] = [{ id: '1', author: ada, cover: { id: 'f', bytes: 1, url: '/f' } }];
  const changes = [update('1', { due: new Date(OLD), author: 'a', cover: 'g' })];
  const query = { include: ['author'] };
  expect(applyToList(records, changes, query)).toEqual([{ ...records[0], due: OLD }]);
  expect(applyToList(records, [update('1', { author: 'b' })], query)).toEqual([{ ...records[0], author: 'b' }]);
});

test.for([
  [{ status: 'open' }, { status: 'closed' }, false],
  [{ status: 'open' }, { status: 'OPEN' }, true],
  [{ status: 'open' }, { title: 'other' }, true],
  [{ status: ['open', 'new'] }, { status: 'new' }, true],
  [{ status: { ne: 'closed' } }, { status: 'closed' }, false],
  [{ status: { nin: ['closed', 'gone'] } }, { status: 'gone' }, false],
  [{ status: { exists: true } }, { status: null }, false],
  [{ status: null }, { status: 'open' }, false],
  [{ price: '1.5' }, { price: '1.50' }, true],
  [{ done: false }, { done: true }, false],
  [{ author: 'a' }, { author: 'b' }, false],
  [{ 'author.name': 'Ada' }, { author: 'b' }, true],
  [{ views: { gte: 10 } }, { views: 1 }, true],
] as const)('with the filter %j, a record stays after the change %j: %s', ([where, changes, stays]) => {
  const records: AnyRecord[] = [{ id: '1', status: 'open', done: false, author: ada, price: '1.5', views: 10 }];
  expect(applyToList(records, [update('1', changes)], { where, include: ['author'] })).toHaveLength(stays ? 1 : 0);
});

test('a deleted record leaves every list, except those of deleted records', () => {
  const records: AnyRecord[] = [{ id: '1' }];
  const deletion: PendingChange = { ...update('1', {}), op: 'delete' };
  expect(applyToList(records, [deletion], {})).toEqual([]);
  expect(applyToList(records, [deletion], { deleted: 'with' })).toBe(records);
});

test('a confirmed change never replaces a newer state', () => {
  const confirmed = { id: '1', title: 'mine', updatedAt: OLD };
  const change = update('1', { title: 'mine' }, confirmed);
  const newer: AnyRecord[] = [{ id: '1', title: 'theirs', updatedAt: NEW }];
  expect(applyToList(newer, [change], { where: { title: 'mine' } })).toEqual(newer);
  const older: AnyRecord[] = [{ id: '1', title: 'before', updatedAt: '2025-12-31T00:00:00.000Z' }];
  expect(applyToList(older, [change], {})).toEqual([confirmed]);
  expect(applyToList(older, [change], { where: { title: 'before' } })).toEqual([]);
});

test('a received record replaces the cached one, without what only an include returns', () => {
  const cached = { id: '1', title: 'A', body: 'x', author: ada, commentsCount: 2, updatedAt: OLD };
  const received = { id: '1', title: 'B', author: 'a', updatedAt: NEW };
  const include = ['author', 'commentsCount'];
  expect(mergeRecord(cached, received, { include })).toEqual({
    ...{ id: '1', title: 'B', author: ada, commentsCount: 2, updatedAt: NEW },
  });
  expect(mergeRecord(cached, received, { include, fields: ['title'] })).toEqual({
    ...{ id: '1', title: 'B', author: ada, commentsCount: 2 },
  });
  expect(mergeRecord(cached, { ...received, author: 'b' }, { include })).toMatchObject({ author: 'b' });
  expect(mergeRecord(received, cached, {})).toBe(received);
});

test('the newest of two states remains, in whichever order they are merged', () => {
  const version = fc.record({ n: fc.integer({ min: 0, max: 9 }), title: fc.string() });
  fc.assert(
    fc.property(version, version, (one, other) => {
      const [a, b] = [one, other].map(({ n, title }) => ({ id: '1', title, updatedAt: `2026-01-01T00:00:00.00${n}Z` }));
      fc.pre(one.n !== other.n);
      expect(mergeRecord(a!, b!, {})).toEqual(mergeRecord(b!, a!, {}));
    }),
  );
});

test('a record that is removed from a page of a cached list is not counted any more', () => {
  const list = {
    pages: [
      { data: [{ id: '1' }], meta: { limit: 1, total: 2 } },
      { data: [{ id: '2' }], meta: { limit: 1 } },
    ],
    pageParams: [undefined, 'x'],
  };
  expect(changeInList(list, '2', () => undefined).pages).toEqual([
    { data: [{ id: '1' }], meta: { limit: 1, total: 1 } },
    { data: [], meta: { limit: 1 } },
  ]);
  expect(changeInList(list, '3', () => undefined)).toBe(list);
});
