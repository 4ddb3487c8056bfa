import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseByteRange } from '../../../src/files/serving/byte-range.ts';
import { cleanFileName } from '../../../src/files/uploads/file-name.ts';
import {
  formatContentDisposition,
  parseContentDisposition,
} from '../../../src/platform/http/bodies/content-disposition.ts';

const anyName = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({
    unit: fc.constantFrom(
      '.',
      ' ',
      '/',
      '\\',
      'a',
      '\u202e',
      '\u200c',
      '\u200d',
      '\ud83d',
      '\ude00',
      '\0',
      '"',
      '%',
      ':',
      'é',
    ),
  }),
);

test('every name becomes one that is safe to show and to save, and cleaning it again changes nothing', () => {
  fc.assert(
    fc.property(anyName, (given) => {
      const name = cleanFileName(given);
      expect(name.length).toBeGreaterThan(0);
      expect(name.length).toBeLessThanOrEqual(200);
      expect(name.isWellFormed()).toBe(true);
      expect(name).toBe(name.normalize('NFC'));
      expect(name).not.toMatch(
        /[/\\\p{Cc}\u202a-\u202e\u2066-\u2069<>:"|?*]|^\.|\.$|^ | $|^[\u200c\u200d]|[\u200c\u200d]$/u,
      );
      expect(cleanFileName(name)).toBe(name);
    }),
    { numRuns: 2000 },
  );
});

test('the header of a download has the exact name, and parses', () => {
  fc.assert(
    fc.property(anyName, (given) => {
      const name = cleanFileName(given);
      const header = formatContentDisposition('attachment', name);
      expect(header).toMatch(/^[\x20-\x7e]+$/);
      expect(parseContentDisposition(header)).toMatchObject({ type: 'attachment', filename: name });
    }),
    { numRuns: 2000 },
  );
});

test('parsing a header never throws, whatever it contains', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      parseContentDisposition(text);
      parseContentDisposition(`form-data; ${text}`);
    }),
  );
});

test('a range is always inside the file', () => {
  const position = fc.oneof(fc.nat({ max: 200 }), fc.constant(''), fc.bigInt({ min: 0n }));
  fc.assert(
    fc.property(position, position, fc.integer({ min: 1, max: 100 }), (start, end, bytes) => {
      const range = parseByteRange(`bytes=${start}-${end}`, bytes);
      if (typeof range !== 'object') return;
      expect(range.start).toBeGreaterThanOrEqual(0);
      expect(range.start).toBeLessThanOrEqual(range.end);
      expect(range.end).toBeLessThan(bytes);
    }),
  );
});
