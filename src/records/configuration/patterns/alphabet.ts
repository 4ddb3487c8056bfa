/** Letters of other scripts, white space, and letters whose upper and lower case are odd. */
const FOREIGN = '\u00e9\u00df\u017f\u212a\u0130\u0131\u03c2\u03a3\u0416\u4e2d\u3042\u0627\u05d0\u00a0\u2028\ufeff';
const BEYOND_BMP = '\u{1f600}\u{1d538}';

/** Characters of every block: all of those with upper and lower case, every seventh of the others. */
function* ofEveryBlock(): Generator<string> {
  for (let code = 0; code <= 0xffff; code += code < 0x3000 ? 1 : 7) {
    if (code < 0xd800 || code > 0xdfff) yield String.fromCharCode(code);
  }
  yield* BEYOND_BMP;
}

/** The characters that an expression may tell apart: ASCII, those that it names and their neighbours. */
function candidates(source: string, unicode: boolean): Set<string> {
  // What a property holds is known to the engine alone.
  if (/\\[pP]\{/.test(source)) return new Set(ofEveryBlock());
  const found = new Set([...FOREIGN, ...(unicode ? BEYOND_BMP : [])]);
  for (let code = 0; code < 128; code++) found.add(String.fromCharCode(code));
  const escaped = source.replace(/\\(?:u\{([0-9a-f]+)\}|u([0-9a-f]{4})|x([0-9a-f]{2}))/gi, (_all, ...hex) =>
    String.fromCodePoint(
      Number.parseInt(
        hex.find((one) => one !== undefined),
        16,
      ),
    ),
  );
  for (const character of unicode ? escaped : escaped.split('')) {
    const code = character.codePointAt(0)!;
    for (const near of [code - 1, code, code + 1])
      if (near >= 0 && near <= 0x10ffff) found.add(String.fromCodePoint(near));
    for (const other of [character.toLowerCase(), character.toUpperCase()])
      if (other.length === character.length) found.add(other);
  }
  return found;
}

/**
 * Sorts characters into classes that no part of an expression tells apart. The engine itself is asked what a part reads.
 *
 * @param atoms the parts that read one character
 * @returns a character for each class, those that people type first of all; and for each atom its classes, as bits
 */
export function classify(
  atoms: readonly { source: string; flags: string }[],
  source: string,
): { letters: string[]; classesOf: bigint[] } {
  const keys = atoms.map(({ source: atom, flags }) => `${flags}/${atom}`);
  const distinct = [...new Map(atoms.map((atom, i) => [keys[i]!, atom])).entries()].map(([key, atom]) => ({
    key,
    reads: new RegExp(`^(?:${atom.source})$`, atom.flags),
  }));
  const unicode = atoms.some(({ flags }) => /[uv]/.test(flags));
  const letters = new Map<string, string>();
  for (const character of candidates(source, unicode)) {
    const signature = distinct.map(({ reads }) => (reads.test(character) ? '1' : '0')).join('');
    const known = letters.get(signature);
    if (known === undefined || (/\W/.test(known) && /\w/.test(character))) letters.set(signature, character);
  }
  const signatures = [...letters.keys()];
  const bits = new Map(
    distinct.map(({ key }, i) => [
      key,
      signatures.reduce((all, signature, at) => (signature[i] === '1' ? all | (1n << BigInt(at)) : all), 0n),
    ]),
  );
  return { letters: [...letters.values()], classesOf: keys.map((key) => bits.get(key)!) };
}
