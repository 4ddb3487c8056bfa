import fc from 'fast-check';

/** How many code points are halves of a pair: they are no characters. */
const SURROGATES = 0x800;

/** Any character of Unicode, as `unit` of `fc.string`. fast-check's own `binary` computes for three seconds before its first text. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + SURROGATES));
