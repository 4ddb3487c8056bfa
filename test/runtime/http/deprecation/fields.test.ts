import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Deprecation,
  defineResource,
  defineUser,
  f,
  realtime,
  softDelete,
  webhooks,
} from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { scaleRuns } from '../../../support/vitest/fuzz-runs.ts';
import { announcementOf, atMidnight } from './announcement.ts';

const OPEN = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const since = (date: string) => ({ since: date });

const region = defineResource('region', { fields: { name: f.string() }, policies: OPEN });
const company = defineResource('company', {
  fields: {
    name: f.string().required(),
    holding: f.ref('company'),
    region: f.ref('region').deprecated(since('2026-04-01')),
  },
  policies: OPEN,
});
const post = defineResource('post', {
  fields: {
    headline: f.string().max(200),
    title: f.string().max(200).filterable().sortable().searchable().deprecated({
      since: '2026-11-01',
      sunset: '2027-06-01',
      use: 'headline',
      link: 'https://docs.example.com/title',
    }),
    count: f.integer().deprecated(since('2026-01-01')),
    company: f.ref('company'),
    sponsor: f.ref('company').populate().deprecated(since('2026-03-01')),
    place: f.object({ city: f.string(), zip: f.string().deprecated(since('2026-05-01')) }),
    lines: f.array(f.object({ text: f.string(), note: f.string().deprecated(since('2026-06-01')) })),
    stamp: f.string().readOnly().default('stamped').deprecated(since('2026-07-01')),
  },
  policies: OPEN,
  routes: (route) => [
    route.get('/old', { policy: 'public', deprecated: since('2020-01-01') }, () => ({})),
    route.post('/:id/echo', { policy: 'public' }, ({ doc }) => doc),
  ],
});
/** A deprecated field may have the name of a parameter of lists; then the parameter means the field. */
const tally = defineResource('tally', {
  fields: { count: f.integer().filterable().deprecated(since('2026-01-01')) },
  policies: OPEN,
});

// Resources with generated deprecations.
const PAGES = ['https://a.example.com/', 'https://b.example.com/x,y;z?q=1', 'http://c.example.com/'];
const day = fc.date({ min: new Date('1960-01-01'), max: new Date('2090-01-01'), noInvalidDate: true });
const deprecation: fc.Arbitrary<Deprecation> = fc
  .record({
    dates: fc.tuple(day, day),
    isDated: fc.boolean(),
    hasSunset: fc.boolean(),
    page: fc.option(fc.constantFrom(...PAGES)),
  })
  .map(({ dates, isDated, hasSunset, page }) => {
    const text = (date: Date) => (isDated ? date.toISOString().slice(0, 10) : `${date.toISOString().slice(0, 19)}Z`);
    const [first, last] = dates.toSorted((a, b) => a.getTime() - b.getTime());
    return {
      since: text(first!),
      ...(hasSunset ? { sunset: text(last!) } : {}),
      ...(page === null ? {} : { link: page }),
    };
  });

const FIELDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const ROUTES = ['plain', 'old'] as const;
const declared = fc.sample(deprecation, FIELDS.length + 1);
const byName = Object.fromEntries(FIELDS.map((name, i) => [name, declared[i]!]));
const ofRoute = declared.at(-1)!;
const generatedFields = Object.fromEntries(
  FIELDS.map((name) => [name, f.string().filterable().sortable().deprecated(byName[name]!)]),
);
const plain = defineResource('plain', { fields: generatedFields, policies: OPEN });
const old = defineResource('old', { fields: generatedFields, policies: OPEN, deprecated: ofRoute });
const { call, app, person, url } = await startTestApp(
  {
    resources: [
      defineUser({ fields: { nickname: f.string().max(50).deprecated(since('2026-08-01')) } }),
      region,
      company,
      post,
      tally,
      plain,
      old,
    ],
    extensions: [softDelete(), realtime(), webhooks()],
  },
  { roles: 'all', env: () => ({ LOG_LEVEL: 'silent' }) },
);
const north = await app.service(region).create({ name: 'North' });
const sub = await app.service(company).create({ name: 'Sub', region: north.id });
const one = await app.service(post).create({ title: 'Old', count: 1, company: sub.id, sponsor: sub.id, lines: [] });
const item = `/api/posts/${one.id}`;

/** The deprecation that the response to a request announces; undefined if none. */
const deprecationOf = async (method: string, path: string, body?: unknown) =>
  announcementOf(await call(method, path, body))?.deprecation;

test('a response that merely contains deprecated fields announces nothing', async () => {
  const { headers, body } = await call('GET', item);
  expect(announcementOf({ headers })).toBeUndefined();
  expect(body.data).toMatchObject({ title: 'Old', count: 1, sponsor: { name: 'Sub' }, stamp: 'stamped' });
  for (const path of ['/api/posts', '/api/posts?limit=5&count=none', '/api/posts?q=old', `${item}?fields=headline`])
    expect([path, await deprecationOf('GET', path)]).toEqual([path, undefined]);
  expect(await deprecationOf('PATCH', item, { headline: 'New' })).toBeUndefined();
  expect(await deprecationOf('POST', `${item}/echo`, { title: 'not a body of a record' })).toBeUndefined();
});

test('a field in a body is announced with its dates and page, whatever its value, also with a validation error', async () => {
  const expected = {
    deprecation: atMidnight('2026-11-01'),
    sunset: 'Tue, 01 Jun 2027 00:00:00 GMT',
    links: ['<https://docs.example.com/title>; rel="deprecation"', '<https://docs.example.com/title>; rel="sunset"'],
  };
  const created = await call('POST', '/api/posts', { title: 'Hello' });
  expect(created.status).toBe(201);
  expect(created.body.data.title).toBe('Hello');
  expect(announcementOf(created)).toEqual(expected);
  for (const method of ['PATCH', 'PUT'])
    expect(announcementOf(await call(method, item, { title: null }))).toEqual(expected);
  const refused = await call('PATCH', item, { title: 'x'.repeat(300) });
  expect(refused.status).toBe(422);
  expect(announcementOf(refused)).toEqual(expected);
  const readOnly = await call('PATCH', item, { stamp: 'mine' });
  expect([readOnly.status, announcementOf(readOnly)?.deprecation]).toEqual([422, atMidnight('2026-07-01')]);
});

test('a field in a filter, sort, fields or include is announced', async () => {
  const title = atMidnight('2026-11-01');
  const cases = [
    ['/api/posts?title=Old', title],
    ['/api/posts?title[in]=Old,New', title],
    ['/api/posts?title%5Bexists%5D=true', title],
    ['/api/posts?sort=title', title],
    ['/api/posts?sort=-createdAt,-title', title],
    ['/api/posts?fields=headline,title', title],
    [`${item}?fields=title`, title],
    [`${item}?fields=count`, atMidnight('2026-01-01')],
    [`${item}?include=sponsor`, atMidnight('2026-03-01')],
    [`${item}?include=company.region`, atMidnight('2026-04-01')],
    ['/api/posts?include=company,company.region', atMidnight('2026-04-01')],
    [`${item}?include=company`, undefined],
  ] as const;
  for (const [path, expected] of cases) {
    const response = await call('GET', path);
    expect([path, response.status, announcementOf(response)?.deprecation]).toEqual([path, 200, expected]);
  }
});

test('a parameter of lists that has the name of a deprecated field is announced only if it means the field', async () => {
  expect(await deprecationOf('GET', '/api/posts?count=exact')).toBeUndefined();
  expect(await deprecationOf('GET', '/api/tallies?count=3')).toBe(atMidnight('2026-01-01'));
});

test('a refused query with a deprecated field is announced, and one with an unknown field is not', async () => {
  const refused = await call('GET', '/api/posts?title=Old&colour=red');
  expect([refused.status, announcementOf(refused)?.deprecation]).toEqual([400, atMidnight('2026-11-01')]);
  for (const query of [
    'constructor=1',
    'sort=__proto__',
    'include=toString.title',
    'fields=titel',
    'sort=title&sort=title',
  ]) {
    const response = await call('GET', `/api/posts?${query}`);
    expect([query, response.status, announcementOf(response)]).toEqual([query, 400, undefined]);
  }
});

test('an include path of any length is refused as before', async () => {
  const path = `${'holding.'.repeat(8000)}region`;
  const response = await call('GET', `/api/companies?include=${path}`);
  expect([response.status, announcementOf(response)]).toEqual([400, undefined]);
});

test('a field inside an object or an array is announced if the body sets it', async () => {
  const zip = atMidnight('2026-05-01');
  const note = atMidnight('2026-06-01');
  const cases = [
    [{ place: { city: 'Rome' } }, undefined],
    [{ place: { zip: '1' } }, zip],
    [{ place: { city: 'Rome', zip: null } }, zip],
    [{ lines: [{ text: 'a' }] }, undefined],
    [{ lines: [{ text: 'a' }, { text: 'b', note: 'c' }] }, note],
    [{ lines: [], place: { zip: '1' } }, zip],
  ] as const;
  for (const [body, expected] of cases) {
    expect([body, await deprecationOf('PATCH', item, body)]).toEqual([body, expected]);
    expect([body, await deprecationOf('POST', '/api/posts', body)]).toEqual([body, expected]);
  }
});

test.each([
  ['null', 'null'],
  ['a list', '[{"title":"x"}]'],
  ['a text', '"title"'],
  ['malformed', '{"title":'],
])('a body that is %s names no field', async (_name, body) => {
  const response = await call('PATCH', item, body);
  expect([400, 422]).toContain(response.status);
  expect(announcementOf(response)).toBeUndefined();
});

test('several deprecated things in a request announce the earliest dates and all pages', async () => {
  const response = await call('PATCH', `${item}`, { title: 'x', count: 2, place: { zip: '1' } });
  expect(announcementOf(response)).toEqual({
    deprecation: atMidnight('2026-01-01'),
    sunset: 'Tue, 01 Jun 2027 00:00:00 GMT',
    links: ['<https://docs.example.com/title>; rel="deprecation"', '<https://docs.example.com/title>; rel="sunset"'],
  });
});

test('fields of users are announced when a registration or a profile sets them', async () => {
  const body = { name: 'Eve', email: 'eve@example.com', password: 'a bell rings at noon', nickname: 'E' };
  const registered = await call('POST', '/api/auth/register', body);
  expect([registered.status, announcementOf(registered)?.deprecation]).toEqual([201, atMidnight('2026-08-01')]);
  const eve = createClient(url, registered.body.data.token);
  expect(announcementOf(await eve('PATCH', '/api/auth/me', { nickname: 'Evie' }))?.deprecation).toBe(
    atMidnight('2026-08-01'),
  );
  expect(announcementOf(await eve('PATCH', '/api/auth/me', { name: 'Evie' }))).toBeUndefined();
  expect(announcementOf(await eve('GET', '/api/auth/me'))).toBeUndefined();
});

test('a filter of a realtime subscription is announced, and a malformed one is refused as before', async () => {
  const open = async (query: string) => {
    const response = await fetch(`${url}/api/realtime?${query}`);
    await response.body?.cancel();
    return [response.status, announcementOf(response)?.deprecation];
  };
  const title = atMidnight('2026-11-01');
  expect(await open(`subscribe=${encodeURIComponent('post?title=Old')}`)).toEqual([200, title]);
  expect(await open('subscribe=post&title=Old')).toEqual([200, title]);
  expect(await open('subscribe=company&subscribe=post')).toEqual([200, undefined]);
  expect(await open('subscribe=nothing%3Ftitle%3Dx')).toEqual([400, undefined]);
  expect(await open('title=Old')).toEqual([400, undefined]);
});

test('services, webhooks and events deliver deprecated fields as before', async () => {
  const receiver = await startReceiver();
  const ann = await person('Ann');
  await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['post.created'] });
  const events: unknown[] = [];
  app.on('post.created', ({ record }) => events.push(record));
  const made = await app.service(post).create({ title: 'Delivered', count: 7 });
  const [delivery] = await receiver.received(1);
  expect(JSON.parse(delivery!.body).data).toMatchObject({ title: 'Delivered', count: 7 });
  expect(events).toEqual([expect.objectContaining({ id: made.id, title: 'Delivered', count: 7 })]);
  await receiver.close();
});

/** What the response must announce, computed from the declarations. */
function expectedOf(used: readonly Deprecation[]) {
  if (used.length === 0) return undefined;
  const earliest = (texts: readonly string[]) => Math.min(...texts.map((text) => Date.parse(text)));
  const sunsets = used.flatMap(({ sunset }) => sunset ?? []);
  const links = used.flatMap(({ link, sunset }) => {
    if (link === undefined) return [];
    return [`<${link}>; rel="deprecation"`, ...(sunset === undefined ? [] : [`<${link}>; rel="sunset"`])];
  });
  return {
    deprecation: `@${earliest(used.map(({ since }) => since)) / 1000}`,
    sunset: sunsets.length === 0 ? undefined : new Date(earliest(sunsets)).toUTCString(),
    links: [...new Set(links)].toSorted(),
  };
}

test('any combination of deprecated fields and routes announces the earliest dates and all pages once', async () => {
  const names = fc.subarray(FIELDS);
  const property = fc.asyncProperty(
    fc.constantFrom(...ROUTES),
    fc.record({ filtered: names, sorted: names, selected: names }),
    names,
    fc.boolean(),
    async (route, { filtered, sorted, selected }, inBody, isWrite) => {
      const query = new URLSearchParams(filtered.map((name): [string, string] => [name, 'x']));
      if (sorted.length > 0) query.set('sort', sorted.join(','));
      if (selected.length > 0) query.set('fields', selected.join(','));
      const path = route === 'plain' ? '/api/plains' : '/api/olds';
      const response = isWrite
        ? await call('POST', path, Object.fromEntries(inBody.map((name) => [name, 'x'])))
        : await call('GET', `${path}?${query}`);
      expect(response.status).toBe(isWrite ? 201 : 200);
      const used = new Set(isWrite ? inBody : [...filtered, ...sorted, ...selected]);
      const announced = announcementOf(response);
      expect(announced && { ...announced, links: announced.links.toSorted() }).toEqual(
        expectedOf([...(route === 'old' ? [ofRoute] : []), ...Array.from(used, (name) => byName[name]!)]),
      );
      // RFC 9745: a sunset must not be before the deprecation.
      if (announced?.sunset !== undefined)
        expect(Date.parse(announced.sunset) / 1000).toBeGreaterThanOrEqual(Number(announced.deprecation!.slice(1)));
    },
  );
  await fc.assert(property, { numRuns: scaleRuns(60) });
});
