import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEntityTag, parseEntityTags, versionOfTag } from '../../../src/platform/http/entity-tag.ts';

// The characters that RFC 9110 allows between the quotes, as Latin-1.
const isAllowed = (code: number) => code === 0x21 || (code >= 0x23 && code <= 0x7e) || code >= 0x80;
const letter = fc.integer({ min: 0x21, max: 0xff }).filter(isAllowed);
const opaque = fc.string({ unit: letter.map((code) => String.fromCharCode(code)) });
const tag = fc.record({ weak: fc.boolean(), opaque });

test('a list written according to RFC 9110 is parsed, ignoring empty elements and white space', () => {
  const blank = fc.constantFrom('', ' ', '\t', '  ');
  fc.assert(
    fc.property(fc.array(tag, { minLength: 1 }), fc.array(blank, { minLength: 1 }), blank, (tags, blanks, end) => {
      const texts = tags.map(
        (one, i) =>
          `${blanks[i % blanks.length]}${one.weak ? 'W/' : ''}"${one.opaque}"${blanks[(i + 1) % blanks.length]}`,
      );
      expect(parseEntityTags(`${texts.join(',,')},${end}`)).toEqual(tags);
    }),
  );
});

test('any text is quickly parsed or refused', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('"', ',', 'W', '/', ' ', '*', 'a', '\t'), maxLength: 40 }),
      (text) => {
        const tags = parseEntityTags(text);
        if (Array.isArray(tags)) expect(tags.length).toBeGreaterThan(0);
      },
    ),
  );
  expect(parseEntityTags(`${'"",'.repeat(20_000)}x`)).toBeUndefined();
  expect(parseEntityTags(' '.repeat(60_000))).toBeUndefined();
});

test.each([['*'], [' *\t']])('%j matches any tag', (text) => {
  expect(parseEntityTags(text)).toBe('*');
});

test.each([
  '',
  ' ',
  ',',
  ',,',
  'a',
  '"a',
  'a"',
  '*,*',
  '"a" "b"',
  'w/"a"',
  'W /"a"',
  'W/',
  '"a"W/"b"',
  '"\x7f"',
  '"a b"',
])('%j is malformed', (text) => {
  expect(parseEntityTags(text)).toBeUndefined();
});

test('a tag contains its version, if it has one; other viewers and bodies have other tags', () => {
  const version = fc.string({ unit: fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyz'), minLength: 1 });
  const id = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 24, maxLength: 24 });
  fc.assert(
    fc.property(fc.uint8Array(), version, id, (bytes, made, viewer) => {
      const body = Buffer.from(bytes);
      const tag = createEntityTag(body, made, viewer);
      expect(tag).toMatch(/^[\x21\x23-\x7e]+$/);
      expect(versionOfTag(tag)).toBe(made);
      expect(versionOfTag(createEntityTag(body, undefined, viewer))).toBeUndefined();
      expect(createEntityTag(body, made)).not.toBe(tag);
      expect(createEntityTag(Buffer.concat([body, Buffer.from('x')]), made, viewer)).not.toBe(tag);
    }),
  );
});

test('a tag starts with 132 bits of the SHA-256 of the bytes, and ends with the viewer', () => {
  const digest = createHash('sha256').update('{}').digest('base64').slice(0, 22);
  expect(createEntityTag(Buffer.from('{}'), undefined)).toBe(digest);
  expect(createEntityTag(Buffer.from('{}'), '7k', 'ann')).toBe(`7k-${digest}ann`);
});
