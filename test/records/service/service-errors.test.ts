import pg from 'pg';
import { expect, test } from 'vitest';
import { ApiError, defineResource, f } from '../../../src/index.ts';
import { toServiceError } from '../../../src/records/service/service.ts';
import { startTestApp } from '../../support/app.ts';

const { app, env } = await startTestApp({ resources: [defineResource('gone', { fields: { name: f.string() } })] });

test('a service throws database errors as ApiErrors with the original error as the cause', async () => {
  const client = new pg.Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  await client.query('drop table gones');
  await client.end();
  const unavailableService = app.service('gone');
  const id = '0123456789abcdef01234567';
  const calls = [
    unavailableService.list(),
    unavailableService.first(),
    unavailableService.count(),
    unavailableService.read(id),
    unavailableService.create({}),
    unavailableService.update(id, {}),
    unavailableService.delete(id),
  ];
  for (const result of await Promise.allSettled(calls)) {
    const error = (result as PromiseRejectedResult).reason;
    expect(error).toBeInstanceOf(ApiError);
    expect([error.code, error.message]).toEqual(['INTERNAL', 'Something went wrong']);
    expect(error.cause).toBeInstanceOf(pg.DatabaseError);
  }
});

test.each([
  ['57P01', 'UNAVAILABLE'],
  ['57014', 'UNAVAILABLE'],
  ['22003', 'VALIDATION_ERROR'],
])('an error of the class %s becomes %s', (code, expected) => {
  const error = Object.assign(new Error('of the database'), { code });
  expect(toServiceError(error, false)).toMatchObject({ code: expected, cause: error });
});

test('errors thrown by project code stay unchanged', () => {
  const error = new RangeError('mine');
  expect(toServiceError(error, false)).toBe(error);
});
