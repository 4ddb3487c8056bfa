// Texts for property tests. The generators of fast-check (`unit: 'binary'`, `webUrl`, `webQueryParameters`) need three seconds to start.
import fc from 'fast-check';

/** The number of surrogate code points, which are not characters. */
const SURROGATES = 0x800;

/** Any Unicode character, for use as `unit` of `fc.string`. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + SURROGATES));

const escapedText = fc.string({ unit: anyCharacter, maxLength: 5 }).map(encodeURIComponent);
const plainText = (characters: string) => fc.string({ unit: fc.constantFrom(...characters), maxLength: 10 });
const listOf = (piece: fc.Arbitrary<string>) => fc.array(fc.oneof(piece, escapedText), { maxLength: 8 });

/** The query of a URL, well-formed, without its question mark. */
export const anyQuery = listOf(plainText("aZ09-._~!$&'()*+,;=:@/?")).map((list) => list.join(''));

/** An http or https URL. */
export const anyUrl = fc
  .tuple(
    fc.constantFrom('http', 'https'),
    fc.domain(),
    listOf(plainText("aZ09-._~!$&'()*+,;=:@/")),
    fc.option(anyQuery),
  )
  .map(([scheme, host, path, query]) => `${scheme}://${host}/${path.join('/')}${query === null ? '' : `?${query}`}`);
