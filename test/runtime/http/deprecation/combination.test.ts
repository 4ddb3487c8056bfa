// Any combination of deprecated things in a request announces the earliest dates and every page, each once.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Deprecation, defineResource, defineUser, f } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { scaleRuns } from '../../../support/vitest/fuzz-runs.ts';
import { announcementOf } from './announcement.ts';

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
const fields = Object.fromEntries(
  FIELDS.map((name) => [name, f.string().filterable().sortable().deprecated(byName[name]!)]),
);
const policies = { list: 'public', create: 'public' } as const;
const { call } = await startTestApp({
  resources: [
    defineUser(),
    defineResource('plain', { fields, policies }),
    defineResource('old', { fields, policies, deprecated: ofRoute }),
  ],
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

const names = fc.subarray(FIELDS);

test('any combination of deprecated fields and routes announces the earliest dates and all pages once', async () => {
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
