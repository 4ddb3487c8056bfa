import { expect, test } from 'vitest';
import type { Deprecation } from '../../../src/index.ts';
import { defineExtension, defineResource, defineUser, f } from '../../../src/index.ts';
import { getStartupError, getStartupErrorOfField, getStartupErrorOfOptions } from '../../support/startup-error.ts';

/** A deprecation as plain JavaScript may declare it. */
const malformed = (value: unknown) => value as Deprecation;
const since = '2026-11-01';

const INVALID: [string, unknown, string][] = [
  ['no object', '2026-11-01', ": must be an object such as { since: '2026-11-01' }"],
  ['undefined', undefined, ": must be an object such as { since: '2026-11-01' }"],
  [
    'no date',
    {},
    ": since: the date is missing; write a date such as '2026-11-01', or with a time, '2026-11-01T12:00:00Z'",
  ],
  ['a day that does not exist', { since: '2026-02-30' }, ': since: "2026-02-30" is not a date; write a date such as'],
  ['a month that does not exist', { since: '2026-13-01' }, ': since: "2026-13-01" is not a date'],
  ['an hour that does not exist', { since: '2026-11-01T25:00:00Z' }, ': since: "2026-11-01T25:00:00Z" is not a date'],
  ['a time without a zone', { since: '2026-11-01T12:00:00' }, ': since: "2026-11-01T12:00:00" is not a date'],
  ['a number', { since: 1_790_000_000 }, ': since: 1790000000 is not a date'],
  ['a malformed sunset', { since, sunset: 'soon' }, ': sunset: "soon" is not a date; write a date such as'],
  [
    'a sunset before since',
    { since, sunset: '2026-10-31' },
    ': sunset: 2026-10-31 is before since, 2026-11-01; choose a later date',
  ],
  [
    'a sunset a second before since',
    { since: '2026-11-01T12:00:00+01:00', sunset: '2026-11-01T10:59:59Z' },
    ': sunset: 2026-11-01T10:59:59Z is before since',
  ],
  ['a misspelled key', { since, sunst: '2027-01-01' }, ': "sunst" is not an option. Did you mean "sunset"?'],
  ['an unknown key', { since, because: 'x' }, ': "because" is not an option; options: since, sunset, use, link'],
  ['a link without a host', { since, link: '/docs' }, ': link: "/docs" is not an http:// or https:// URL'],
  [
    'a link with another scheme',
    { since, link: 'javascript:alert(1)' },
    ': link: "javascript:alert(1)" is not an http:// or https:// URL',
  ],
  [
    'an empty replacement',
    { since, use: '' },
    ": use: must be a text that names the replacement, such as 'GET /api/posts/:id'",
  ],
];

test.each(INVALID)('a field with a deprecation that is invalid (%s) is a configuration error', (_name, value, text) => {
  expect(getStartupErrorOfField(f.string().deprecated(malformed(value)))).toContain(
    `resource "thing": field "a": deprecated()${text}`,
  );
});

test.each(INVALID.filter(([name]) => name !== 'undefined'))(
  'a custom route with a deprecation that is invalid (%s) is a configuration error',
  (_name, value, text) => {
    const routes = (route: { get: (path: string, options: object, handler: () => object) => unknown }) => [
      route.get('/old', { deprecated: value }, () => ({})),
    ];
    expect(getStartupErrorOfOptions({ routes })).toContain(
      `resource "thing": route GET /things/old: deprecated${text}`,
    );
  },
);

test('the deprecation of a resource and of its actions is checked', () => {
  const errorOf = (deprecated: unknown, more: object = {}) => getStartupErrorOfOptions({ deprecated, ...more });
  expect(errorOf('now')).toContain(
    `resource "thing": deprecated: must be an object such as { since: '2026-11-01' }, or such objects by action`,
  );
  expect(errorOf({ since: 'now' })).toContain('resource "thing": deprecated: since: "now" is not a date');
  expect(errorOf({ delete: { since: 'now' } })).toContain('resource "thing": deprecated: delete: since: "now" is not');
  expect(errorOf({ delete: 'now' })).toContain('resource "thing": deprecated: delete: must be an object');
  expect(errorOf({ delete: { since }, reed: { since } })).toContain(
    'resource "thing": deprecated: reed: unknown action. Did you mean "read"?',
  );
  expect(errorOf({ lst: { since } })).toContain('deprecated: "lst" is not an option. Did you mean "list"?');
  expect(errorOf({ since, delete: { since } })).toContain('deprecated: "delete" is not an option');
  expect(errorOf({ delete: { since } }, { crud: ['list'] })).toContain(
    'resource "thing": deprecated: delete: the action has no route; add it to crud, or remove it here',
  );
  expect(errorOf({ since, use: 'the new one' })).toContain(
    'resource "thing": deprecated: use: "the new one" must be a route with its method and full path, such as "GET /api/posts/:id", or a URL',
  );
});

test('a replacement that is a route must exist; the error names the place once and suggests the route that was meant', () => {
  const fields = { a: f.string(), b: f.string().deprecated({ since, use: 'GET /api/thingz' }) };
  const error = getStartupError({
    resources: [
      defineUser(),
      defineResource('thing', {
        fields,
        deprecated: { since, use: 'GET /things' },
        routes: (route) => [
          route.get('/:id/old', { deprecated: { since, use: 'PUT /api/things/:id/old' } }, () => ({})),
          route.get('/fine', { deprecated: { since, use: 'GET /api/things/:any' } }, () => ({})),
          route.get('/page', { deprecated: { since, use: 'GET /clock' } }, () => ({})),
        ],
      }),
    ],
    extensions: [
      defineExtension({
        name: 'clock',
        setup: () => ({
          pages: [{ method: 'GET', path: '/clock', handler: () => ({}) }],
          routes: [
            { method: 'GET', path: '/tick', deprecated: { since, use: 'GET /api/tok' }, handler: () => ({}) },
            { method: 'GET', path: '/tock', deprecated: { since: 'now' }, handler: () => ({}) },
          ],
        }),
      }),
    ],
  });
  expect(
    error
      .split('\n')
      .slice(1)
      .map((line) => line.replace(/^\W+/, '')),
  ).toEqual([
    'extension "clock": route GET /tock: deprecated: since: "now" is not a date; write a date such as \'2026-11-01\', or with a time, \'2026-11-01T12:00:00Z\'',
    'resource "thing": deprecated: use: "GET /things" is not a route of this app. Did you mean "GET /api/things"?',
    'resource "thing": field "b": deprecated(): use: "GET /api/thingz" is not a route of this app. Did you mean "GET /api/things"?',
    'route GET /api/things/:id/old: deprecated: use: "PUT /api/things/:id/old" is not a route of this app. Did you mean "GET /api/things/:id/old"?',
    'route GET /api/tick: deprecated: use: "GET /api/tok" is not a route of this app. Did you mean "GET /api/tock"?',
  ]);
});

test('a replacement that is a field must be another field of the resource, at any depth', () => {
  const errorOf = (use: string) =>
    getStartupError({
      resources: [
        defineUser(),
        defineResource('thing', {
          fields: {
            title: f.string(),
            address: f.object({ city: f.string() }),
            lines: f.array(f.object({ text: f.string(), note: f.string().deprecated({ since, use }) })),
          },
        }),
      ],
    });
  for (const use of [
    'title',
    'address',
    'address.city',
    'lines',
    'lines[].text',
    'https://example.com',
    'GET /api/things',
  ])
    expect([use, errorOf(use)]).toEqual([use, '']);
  expect(errorOf('titel')).toContain(
    'resource "thing": field "lines[].note": deprecated(): use: "titel" is neither a field of this resource, nor a route such as "GET /api/posts", nor a URL. Did you mean "title"?',
  );
  expect(errorOf('lines[].note')).toContain('deprecated(): use: names the field itself; name another');
});

test('a deprecation that clients could not follow, or never see, is a configuration error', () => {
  const deprecation = { since };
  expect(getStartupErrorOfField(f.string().required().deprecated(deprecation))).toContain(
    'field "a": with required() and deprecated(), clients cannot stop sending it; remove required(), give it a default(), or set it in hooks.beforeCreate',
  );
  expect(getStartupErrorOfField(f.object({ b: f.string().required().deprecated(deprecation) }))).toContain(
    'field "a.b": with required() and deprecated(), clients cannot stop sending it; remove required(), or give it a default()',
  );
  expect(getStartupErrorOfField(f.string().hidden().deprecated(deprecation))).toContain(
    'field "a": hidden() and deprecated() cannot be combined: no client uses the field; remove one',
  );
  expect(getStartupErrorOfField(f.array(f.string().deprecated(deprecation)))).toContain(
    'field "a[]": deprecated() has no effect on the items of an array; set it on the array',
  );
  for (const field of [f.string().required().default('x'), f.string(), f.string().readOnly(), f.array(f.string())])
    expect(getStartupErrorOfField(field.deprecated(deprecation))).toBe('');
});

test('errors of deprecations are reported together with all other errors', () => {
  const error = getStartupError({
    resources: [
      defineUser(),
      defineResource('thing', {
        fields: {
          a: f
            .string()
            .min(3)
            .max(1)
            .deprecated(malformed({ since: 'now', link: 'x' })),
        },
        path: 'no-slash',
        deprecated: { since: '2026-01-01', sunset: '2025-01-01' },
      }),
    ],
  });
  for (const text of [
    'since: "now" is not',
    'link: "x" is not',
    'min() is greater',
    'not a valid path',
    'is before since',
  ])
    expect(error).toContain(text);
});
