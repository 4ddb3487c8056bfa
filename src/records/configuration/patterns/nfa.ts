import { type AST, RegExpParser } from '@eslint-community/regexpp';

/** Maximum rounds of a repetition that are expanded. A repetition with more counts as unbounded, which includes all of its paths. */
const MAX_EXPANDED_ROUNDS = 3;
/** Maximum states for the minimum rounds of a repetition. A repetition with more counts as unbounded. */
const MAX_REQUIRED_STATES = 40;
/** Maximum states of an NFA; with more, the search for ambiguity would take too long. */
const MAX_STATES = 600;
/** Paths are counted up to two: more make no difference. */
const MAX_COUNTED_PATHS = 2;

/** Letters of other scripts, white space, and letters with unusual case mappings. */
const UNUSUAL_CHARACTERS =
  '\u00e9\u00df\u017f\u212a\u0130\u0131\u03c2\u03a3\u0416\u4e2d\u3042\u0627\u05d0\u00a0\u2028\ufeff';
const BEYOND_BMP = '\u{1f600}\u{1d538}';

/** Samples the characters of every Unicode block: all below U+3000, every seventh above, and two beyond U+FFFF. */
function* sampleUnicodeCharacters(): Generator<string> {
  for (let code = 0; code <= 0xffff; code += code < 0x3000 ? 1 : 7) {
    if (code < 0xd800 || code > 0xdfff) yield String.fromCharCode(code);
  }
  yield* BEYOND_BMP;
}

/**
 * Characters that an expression may distinguish: ASCII, the characters that the expression contains, and the characters next to them in
 * Unicode.
 */
function candidateCharacters(source: string, unicode: boolean): Set<string> {
  // Only the regex engine knows the characters of a Unicode property.
  if (/\\[pP]\{/.test(source)) return new Set(sampleUnicodeCharacters());
  const found = new Set([...UNUSUAL_CHARACTERS, ...(unicode ? BEYOND_BMP : [])]);
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
 * Sorts characters into equivalence classes: no part of the expression distinguishes two characters of a class. The regex engine itself
 * decides which characters a part matches.
 *
 * @param atoms the parts that match one character
 * @returns a character for each class, a common one if possible; and for each atom, the bit set of its classes
 */
function classifyCharacters(
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
  for (const character of candidateCharacters(source, unicode)) {
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

type PathCounts = Map<number, number>;

/** A part of an expression: its first and last states, and the number of paths by which it matches the empty string. */
interface PatternPart {
  empty: number;
  first: PathCounts;
  last: PathCounts;
}

/**
 * An expression as a nondeterministic finite automaton (NFA), by Glushkov's construction: a state is a position in the expression that
 * reads one character. The expression is ambiguous if several paths read the same text.
 */
export interface Nfa {
  size: number;
  /** The states at which a match begins. */
  first: readonly number[];
  /** The states at which a match may end. */
  last: ReadonlySet<number>;
  /** The successors of each state. */
  next: readonly (readonly number[])[];
  /** Whether several paths lead from one state to the next. */
  isDouble(from: number, to: number): boolean;
  /** A class of characters that both states read; undefined if there is none. */
  common(a: number, b: number): number | undefined;
  reads(state: number, letter: number): boolean;
  /** A class of characters that a state reads. */
  anyLetter(state: number): number;
  /** A character for each class. */
  letters: readonly string[];
  /** Whether a match must reach the end of the text. */
  endAnchored: boolean;
  /**
   * Whether the NFA may have more paths than the expression: look-arounds, word boundaries, back-references and bounded repetitions are not
   * exact.
   */
  approximate: boolean;
}

/** Thrown when an expression has too many states. */
export class NfaTooLargeError extends Error {}

const createEmptyPart = (empty = 1): PatternPart => ({ empty, first: new Map(), last: new Map() });

function addPathCounts(to: PathCounts, from: PathCounts, factor: number): void {
  if (factor === 0) return;
  for (const [position, ways] of from)
    to.set(position, Math.min(MAX_COUNTED_PATHS, (to.get(position) ?? 0) + ways * factor));
}

function sumPathCounts(a: PathCounts, b: PathCounts, factor: number): PathCounts {
  const both = new Map(a);
  addPathCounts(both, b, factor);
  return both;
}

/** Builds the parts of an expression, with the successors of each state. */
class NfaBuilder {
  readonly atoms: { source: string; flags: string }[] = [];
  readonly follow: PathCounts[] = [];
  approximate = false;
  readonly #within = new Set<AST.Node>();

  addState(source: string, flags: string): PatternPart {
    if (this.atoms.length >= MAX_STATES) throw new NfaTooLargeError();
    const position = this.atoms.push({ source, flags }) - 1;
    this.follow.push(new Map());
    return { empty: 0, first: new Map([[position, 1]]), last: new Map([[position, 1]]) };
  }

  #link(from: PatternPart, to: PatternPart): void {
    for (const [position, ways] of from.last) addPathCounts(this.follow[position]!, to.first, ways);
  }

  concatenate(a: PatternPart, b: PatternPart): PatternPart {
    this.#link(a, b);
    return {
      empty: Math.min(MAX_COUNTED_PATHS, a.empty * b.empty),
      first: sumPathCounts(a.first, b.first, a.empty),
      last: sumPathCounts(b.last, a.last, b.empty),
    };
  }

  buildAlternation(parts: readonly PatternPart[]): PatternPart {
    const all = createEmptyPart(0);
    for (const part of parts) {
      all.empty = Math.min(MAX_COUNTED_PATHS, all.empty + part.empty);
      addPathCounts(all.first, part.first, 1);
      addPathCounts(all.last, part.last, 1);
    }
    return all;
  }

  // An empty round of a repetition does not count, so that only one path reads the empty string.
  allowEmpty(part: PatternPart): PatternPart {
    return { ...part, empty: 1 };
  }

  allowRepetition(part: PatternPart): PatternPart {
    this.#link(part, part);
    return part;
  }

  buildAlternatives(alternatives: readonly AST.Alternative[], flags: string): PatternPart {
    return this.buildAlternation(
      alternatives.map(({ elements }) =>
        elements.reduce(
          (before, element) => this.concatenate(before, this.buildElement(element, flags)),
          createEmptyPart(),
        ),
      ),
    );
  }

  buildElement(node: AST.Element, flags: string): PatternPart {
    switch (node.type) {
      case 'Group':
        return this.buildAlternatives(node.alternatives, applyModifiers(flags, node.modifiers));
      case 'CapturingGroup':
        return this.buildAlternatives(node.alternatives, flags);
      case 'Quantifier':
        return this.buildQuantifier(node, flags);
      case 'Backreference':
        return this.buildBackreference(node, flags);
      case 'Assertion':
        if (node.kind !== 'start' && node.kind !== 'end') this.approximate = true;
        if (!('alternatives' in node)) return createEmptyPart();
        // The states of a look-around begin here, but no path continues after the look-around.
        return { ...this.buildAlternatives(node.alternatives, flags), empty: 1, last: new Map() };
      default:
        return this.addState(node.raw, flags);
    }
  }

  buildQuantifier({ element, min, max }: AST.Quantifier, flags: string): PatternPart {
    if (max === 0) return createEmptyPart();
    const buildElementCopy = () => this.buildElement(element, flags);
    const before = this.atoms.length;
    const one = buildElementCopy();
    const room = Math.floor(MAX_REQUIRED_STATES / Math.max(1, this.atoms.length - before));
    const exact = max <= MAX_EXPANDED_ROUNDS || (max === min && min <= room);
    const needed = min <= room ? min : 1;
    const copies = exact ? max : Math.max(1, needed);
    if (!exact && (max !== Infinity || needed < min)) this.approximate = true;
    let all = exact ? one : this.allowRepetition(one);
    if (min < copies) all = this.allowEmpty(all);
    for (let nth = copies - 1; nth > 0; nth--) {
      all = this.concatenate(buildElementCopy(), all);
      if (nth > min) all = this.allowEmpty(all);
    }
    return all;
  }

  buildBackreference(node: AST.Backreference, flags: string): PatternPart {
    this.approximate = true;
    if (this.#within.has(node)) return createEmptyPart();
    this.#within.add(node);
    const groups = [node.resolved].flat().filter((group) => group.start > node.end || group.end < node.start);
    const part = this.allowEmpty(
      this.buildAlternation(groups.map((group) => this.buildAlternatives(group.alternatives, flags))),
    );
    this.#within.delete(node);
    return part;
  }
}

function applyModifiers(flags: string, modifiers: AST.Modifiers | null): string {
  const { add, remove } = modifiers ?? {};
  const kept = [...flags].filter((flag) => !(remove?.raw ?? '').includes(flag));
  return [...new Set([...kept, ...(add?.raw ?? '')])].join('');
}

function startsWithAnchor({ elements: [first] }: AST.Alternative): boolean {
  return first?.type === 'Assertion' && first.kind === 'start';
}

function endsWithAnchor({ elements }: AST.Alternative): boolean {
  const last = elements.at(-1);
  return last?.type === 'Assertion' && last.kind === 'end';
}

function lowestSetBitIndex(bits: bigint): number | undefined {
  return bits === 0n ? undefined : (bits & -bits).toString(2).length - 1;
}

/**
 * The NFA of an expression. An NFA that is not exact has more paths than the expression, never fewer.
 *
 * @throws NfaTooLargeError, or a SyntaxError for syntax that the parser does not know yet
 */
export function buildNfa({ source, flags }: RegExp): Nfa {
  const unicode = { unicode: flags.includes('u'), unicodeSets: flags.includes('v') };
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, unicode);
  const plain = flags.replace(/[dgy]/g, '');
  const builder = new NfaBuilder();
  const whole = builder.buildAlternatives(pattern.alternatives, plain);
  // Without ^, a match can begin at every position of the text.
  const anchored = flags.includes('y') || (!flags.includes('m') && pattern.alternatives.every(startsWithAnchor));
  const buildAnyPrefix = () => builder.allowEmpty(builder.allowRepetition(builder.addState('[^]', plain)));
  const root = anchored ? whole : builder.concatenate(buildAnyPrefix(), whole);
  const { letters, classesOf } = classifyCharacters(builder.atoms, source);
  return {
    size: builder.atoms.length,
    first: [...root.first.keys()],
    last: new Set(whole.last.keys()),
    next: builder.follow.map((ways) => [...ways.keys()]),
    isDouble: (from, to) => builder.follow[from]!.get(to) === MAX_COUNTED_PATHS,
    common: (a, b) => lowestSetBitIndex(classesOf[a]! & classesOf[b]!),
    reads: (state, letter) => (classesOf[state]! & (1n << BigInt(letter))) !== 0n,
    anyLetter: (state) => lowestSetBitIndex(classesOf[state]!) ?? 0,
    letters,
    endAnchored: pattern.alternatives.every(endsWithAnchor),
    approximate: builder.approximate,
  };
}
