// Texts for property tests. fast-check's own (`unit: 'binary'`, `webUrl`, `webQueryParameters`) compute for three seconds before their first.
import fc from 'fast-check';

/** How many code points are halves of a pair: they are no characters. */
const SURROGATES = 0x800;

/** Any character of Unicode, as `unit` of `fc.string`. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + SURROGATES));

const escaped = fc.string({ unit: anyCharacter, maxLength: 5 }).map(encodeURIComponent);
const plain = (characters: string) => fc.string({ unit: fc.constantFrom(...characters), maxLength: 10 });
const pieces = (piece: fc.Arbitrary<string>) => fc.array(fc.oneof(piece, escaped), { maxLength: 8 });

/** The query of a URL, well-formed, without its question mark. */
export const anyQuery = pieces(plain("aZ09-._~!$&'()*+,;=:@/?")).map((list) => list.join(''));

/** A URL of the web. */
export const anyUrl = fc
  .tuple(fc.constantFrom('http', 'https'), fc.domain(), pieces(plain("aZ09-._~!$&'()*+,;=:@/")), fc.option(anyQuery))
  .map(([scheme, host, path, query]) => `${scheme}://${host}/${path.join('/')}${query === null ? '' : `?${query}`}`);
