import { expect, test } from 'vitest';
import { summarizeStatement } from '../../../src/platform/postgres/tracing.ts';

test.each([
  ['select "id", "title" from "posts" where "id" = $1', 'SELECT', 'posts'],
  ['with _new as (insert into "posts" ("id") values ($1) returning *) select * from _new', 'INSERT', 'posts'],
  [
    'with _old as (select * from "posts" where "id" = $1 for update), _new as (update "posts" _row set x = $2)',
    'UPDATE',
    'posts',
  ],
  ['with _new as (delete from "posts" where "id" = $1 returning *) select', 'DELETE', 'posts'],
  ['select from "posts" where "id" = $1 for update', 'SELECT', 'posts'],
  ['select id from outbox order by id limit $1 for update skip locked', 'SELECT', 'outbox'],
  ['select 1', 'SELECT', undefined],
])('the summary of %s has its kind and its table', (text, operation, table) => {
  expect(summarizeStatement(text)).toEqual({ operation, table });
});
