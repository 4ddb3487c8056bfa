import { expect, test } from 'vitest';
import { isSlug, slugOfName } from '../../../../src/extensions/organisations/membership/slug.ts';

test.each([
  ['Acme Ltd.', 'acme-ltd'],
  ['Cafés Zoé', 'cafes-zoe'],
  ['Cafe\u0301s Zoe\u0301', 'cafes-zoe'],
  ['Müller & Söhne', 'muller-sohne'],
  ['Straße', 'strasse'],
  ['STRASSE ẞ', 'strasse-ss'],
  ['Łódź', 'lodz'],
  ['Smørrebrød ÆØÅ', 'smorrebrod-aeoa'],
  ['Þórður Đặng', 'thordur-dang'],
  ['Iğdır İzmir', 'igdir-izmir'],
  ['Œuvre', 'oeuvre'],
  ['ＡＢＣ ﬁn ①', 'abc-fin-1'],
  ['Яндекс', 'organisation'],
  ['🔔', 'organisation'],
  ['a'.repeat(100), 'a'.repeat(41)],
])('the slug of %j begins with %s', (name, start) => {
  const slug = slugOfName(name);
  expect(slug.slice(0, -7)).toBe(start);
  expect([slug, isSlug(slug)]).toEqual([expect.stringMatching(/-[0-9a-f]{6}$/), true]);
});
