import { expect, test } from 'vitest';
import { withoutValues } from '../../../../src/platform/work/processes/statement-text.ts';

test.each([
  // Strings.
  ["select * from t where name = 'O''Brien' and id = $1", 'select * from t where name = ? and id = $1'],
  [String.raw`where name = E'it\'s secret@mail.de' and x`, 'where name = ? and x'],
  [String.raw`where name = e'a\\' and x = 'b'`, 'where name = ? and x = ?'],
  [String.raw`where path = 'C:\' and x`, 'where path = ? and x'],
  [String.raw`select E'a''b\\\'c', d`, 'select ?, d'],
  ["select E'a'\n  'it\\'s secret', b", 'select ?, b'],
  ["select E'a' -- comment\n  'it\\'s secret', b", 'select ?, b'],
  ["select B'0101', X'1F', N'name', U&'d\\0061t', u&'x'", 'select ?, ?, ?, ?, ?'],
  ["select code'x'", 'select code?'],
  ["select 'a'::text||'b'", 'select ?::text||?'],
  ["select interval '1 day'", 'select interval ?'],
  // Dollar quotes.
  ['select $tag$ secret $tag$', 'select ?'],
  ["select $$it's secret$$, a", 'select ?, a'],
  ['select $a$ $b$ secret $b$ $a$, c', 'select ?, c'],
  ['do $body$ begin perform $x$secret$x$; end $body$', 'do ?'],
  ['select a$b$c from t$1', 'select a$b$c from t$1'],
  // Numbers.
  ['select 12345678, 10, $1', 'select ?, ?, $1'],
  ['where pin = 4711', 'where pin = ?'],
  ['select 3.14, .5, 1e10, 1.5e-7, 0xFF, 1_000, -7', 'select ?, ?, ?, ?, ?, ?, -?'],
  ['select a1, t2.b3 from table_7x where c = $12', 'select a1, t2.b3 from table_7x where c = $12'],
  ['limit 10 offset 20', 'limit ? offset ?'],
  // Names.
  [`select "a'b" from t where x = 'ada@example.com'`, `select "a'b" from t where x = ?`],
  [`select "a""b", "--c", "/*d" from "T 1"`, `select "a""b", "--c", "/*d" from "T 1"`],
  ['select größe, naïve from café', 'select größe, naïve from café'],
  // Comments.
  ["select a -- ada@example.com's token\nfrom t", 'select a from t'],
  ["select a /* it's ada@example.com */ from t", 'select a from t'],
  ['select a /* b /* c */ secret */ from t', 'select a from t'],
  ["select '-- no comment', a", 'select ?, a'],
  ["select '/* no comment', a", 'select ?, a'],
  ['select a -- the end', 'select a'],
  // Operators.
  [`select a->>'key', b #> '{a,1}', c ? 'd', e @> $1::jsonb`, 'select a->>?, b #> ?, c ? ?, e @> $1::jsonb'],
  ['select a/b, c-d, e*f', 'select a/b, c-d, e*f'],
  // Texts that end too early.
  ["select 'a value that is cut", 'select ?'],
  ["select E'a value that is cut\\", 'select ?'],
  ['select $$secret value', 'select ?'],
  ['select $a$ secret $b$', 'select ?'],
  ['select "secret', 'select ?'],
  ['select a /* secret', 'select a'],
  ['select $', 'select $'],
  // Blanks and tokens.
  ['  select a\n\tfrom   t ', 'select a from t'],
  ["select 'svc_0123456789abcdef0123456789abcdef'", 'select ?'],
  ['select svc_0123456789abcdef0123456789abcdef', 'select svc_[redacted]'],
  ['', ''],
])('%j is shown without its values', (text, shown) => {
  expect(withoutValues(text, 600)).toBe(shown);
});

test.each([
  [`select '${'x'.repeat(5000)}'`, 'select ?'],
  [`select $$${'x'.repeat(5000)}$$`, 'select ?'],
  [`select "${'x'.repeat(5000)}"`, 'select ?'],
  [`select /*${'x'.repeat(5000)}*/ a`, 'select'],
])('a value that is longer than what is read is removed up to its end', (text, shown) => {
  expect(withoutValues(text, 600)).toBe(shown);
});

test('a text is no longer than asked for', () => {
  expect(withoutValues(`select ${'a, '.repeat(5000)}`, 600)).toHaveLength(600);
});
