import { expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { f } from '../../../src/index.ts';
import { getStartupErrorOfField, getStartupErrorOfOptions } from '../../support/startup-error.ts';

test.each<[string, AnyField, string]>([
  [
    'an integer with no whole number between its bounds',
    f.integer().min(0.2).max(0.8),
    'no whole number between min() and max()',
  ],
  ['an integer above the largest safe integer', f.integer().min(2 ** 60), 'no whole number between min() and max()'],
  [
    'an integer below the smallest safe integer',
    f.integer().max(-(2 ** 60)),
    'no whole number between min() and max()',
  ],
  ...[f.string(), f.text(), f.email(), f.url()].map((field): [string, AnyField, string] => [
    `a required ${field.spec.type.kind} of no characters`,
    field.max(0).required(),
    'required() and max(0)',
  ]),
  [
    'a list of required texts with a maximum of 0 characters',
    f.array(f.string().max(0).required()),
    'required() and max(0)',
  ],
  ['required and writable by no user', f.string().required().writableBy('none'), 'no client can create a record'],
  [
    'required and writable by no user, as a list',
    f.string().required().writableBy(['nobody']),
    'no client can create a record',
  ],
  ['filterable and visible to no user', f.string().visibleTo('none').filterable(), 'filterable() cannot be combined'],
  ['sortable and visible to no user', f.string().visibleTo('none').sortable(), 'sortable() cannot be combined'],
  ['searchable and visible to no user', f.string().visibleTo('nobody').searchable(), 'searchable() cannot be combined'],
  ['hidden and immutable', f.string().hidden().immutable(), 'hidden() is never accepted from clients'],
  ['readOnly and immutable', f.string().readOnly().immutable(), 'readOnly() is never accepted from clients'],
  ['owner and immutable', f.ref('user').owner().immutable(), 'owner() is never accepted from clients'],
  ['an object without fields', f.object({}), 'object() has no fields'],
  ['an object without fields inside another', f.object({ p: f.object({}) }), 'object() has no fields'],
  ['filterable with a repeated operator', f.string().filterable(['eq', 'eq']), 'names an operator twice; keep one'],
])('a field declared as %s is contradictory and refused', (_what, field, text) => {
  const lines = getStartupErrorOfField(field).split('\n').slice(1);
  expect(lines).toEqual([expect.stringMatching(/resource "thing": field "a/)]);
  expect(lines[0]).toContain(text);
});

test.each<[string, object, string]>([
  ['a repeated action', { crud: ['list', 'list'] }, 'crud: an action is named twice; keep one'],
  ['a title that is no field', { title: 'b' }, 'title: "b" is not a field; fields: a, who'],
  [
    'a title that is no text',
    { fields: { a: f.integer() }, title: 'a' },
    'title: "a" must be a text that responses contain; choose another field',
  ],
  [
    'a title that is encrypted',
    { fields: { a: f.string().encrypted() }, title: 'a' },
    'title: "a" must be a text that responses contain; choose another field',
  ],
  [
    'a template without a field',
    { title: 'No. {}' },
    'title: "No. {}" must have the name of a field in each pair of braces, such as {name}',
  ],
  [
    'a template with an open brace',
    { title: '{a} {who' },
    'title: "{a} {who" must have the name of a field in each pair of braces, such as {name}',
  ],
  [
    'a template of a field that does not exist',
    { title: '{a} {whom}' },
    'title: "whom" is not a field. Did you mean "who"?',
  ],
  [
    'a template of a field of another resource',
    { title: '{a} · {who.name}' },
    'title: "who.name" is not a field of the resource itself; fields: a, who',
  ],
  [
    'a template of a reference',
    { title: '{a} {who}' },
    'title: "who" must be a text, a number or an enum that responses contain; choose another field',
  ],
  [
    'a template of a hidden field',
    { fields: { a: f.string().hidden() }, title: 'No. {a}' },
    'title: "a" must be a text, a number or an enum that responses contain; choose another field',
  ],
  [
    'a label without text',
    { labels: { one: ' ' } },
    "labels: must be an object of texts of 1 to 100 characters, such as { one: 'Match day', many: 'Match days' }",
  ],
  [
    'an icon that does not exist',
    { icon: 'unicorn' as 'star' },
    'icon: must be one of the icons: bell, book, box, building, calendar, card, cart, chart, clock, file, flag, folder, globe, image, invoice, key, list, lock, mail, map, message, phone, pin, settings, shield, star, tag, ticket, trophy, truck, user, users',
  ],
  [
    'a field label without text',
    { fields: { a: f.string().label('') } },
    'field "a": label() takes a text of 1 to 100 characters',
  ],
  [
    'an owner option whose field is never returned',
    { fields: { a: f.ref('user').writeOnly() }, owner: 'a' },
    'field "a": an owner is never accepted and writeOnly() is never returned; use hidden()',
  ],
  [
    'an owner option whose field a role may set',
    { fields: { a: f.ref('user').writableBy('admin') }, owner: 'a' },
    'field "a": an owner is never accepted from clients, so writableBy() has no effect; remove one',
  ],
  [
    'an owner option whose field is immutable',
    { fields: { a: f.ref('user').immutable() }, owner: 'a' },
    'field "a": an owner is never accepted from clients, so immutable() has no effect; remove it',
  ],
])('a resource declared with %s is contradictory and refused', (_what, options, text) => {
  expect(getStartupErrorOfOptions(options).split('\n').slice(1)).toEqual([`  - resource "thing": ${text}`]);
});

test.each<[string, AnyField]>([
  ['an integer with exactly one possible value', f.integer().min(0.2).max(1)],
  ['a text with a maximum of 0 characters that is optional', f.string().max(0)],
  ['a list with a maximum of 0 items', f.array(f.string()).max(0).required()],
  ['required with a default and writable by no user', f.string().required().default('x').writableBy('none')],
  [
    'required and writable by a function',
    f
      .string()
      .required()
      .writableBy(() => false),
  ],
  ['a field that clients write and no user sees', f.string().visibleTo('none')],
])('%s is accepted', (_what, field) => {
  expect(getStartupErrorOfField(field)).toBe('');
});

test('a required field that no user can write is accepted if only code creates the records', () => {
  const fields = { a: f.string().required().writableBy('none') };
  for (const more of [{ hooks: { beforeCreate() {} } }, { crud: ['list'] }, { policies: { create: 'nobody' } }]) {
    expect(getStartupErrorOfOptions({ fields, ...more })).toBe('');
  }
});

test('a field visible only to owners may be sortable: its index serves code, and clients are refused', () => {
  const fields = { a: f.string().visibleTo('owner').sortable(), who: f.ref('user').owner() };
  expect(getStartupErrorOfOptions({ fields })).toBe('');
});
