import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { classify } from './alphabet.ts';

/** Repetitions with at most so many are written out; more are taken for any number, which has every way through that they have. */
const MAX_COPIES = 3;
/** Places of the copies that a repetition needs at least: more are left to that any number. */
const MAX_NEEDED = 40;
/** Places in an expression; with more the search for ways through would take too long. */
const MAX_POSITIONS = 600;
/** Two ways are as bad as more. */
const MANY = 2;

type Ways = Map<number, number>;

/** A part of an expression: where a match of it begins and ends, and in how many ways it matches nothing. */
interface Part {
  empty: number;
  first: Ways;
  last: Ways;
}

/**
 * An expression as a position automaton (Glushkov): a state is a place where one character was read. An expression reads a
 * text in more than one way where more than one path through it reads that text.
 */
export interface Automaton {
  size: number;
  /** Where a match begins. */
  first: readonly number[];
  /** Where it may end. */
  last: ReadonlySet<number>;
  /** Which states follow a state. */
  next: readonly (readonly number[])[];
  /** Whether more than one way leads from one state to the next. */
  isDouble(from: number, to: number): boolean;
  /** A class of characters that both states read; undefined when there is none. */
  common(a: number, b: number): number | undefined;
  reads(state: number, letter: number): boolean;
  /** A class of characters that a state reads. */
  anyLetter(state: number): number;
  /** A character for each class. */
  letters: readonly string[];
  /** Whether a match must reach the end of the text. */
  endAnchored: boolean;
  /** Whether there are parts that it does not cover in full: look-arounds, word boundaries, references, limits of repetitions. */
  approximate: boolean;
}

/** Thrown when an expression has too many places. */
export class TooLarge extends Error {}

const nothing = (empty = 1): Part => ({ empty, first: new Map(), last: new Map() });

function addWays(to: Ways, from: Ways, factor: number): void {
  if (factor === 0) return;
  for (const [position, ways] of from) to.set(position, Math.min(MANY, (to.get(position) ?? 0) + ways * factor));
}

function sum(a: Ways, b: Ways, factor: number): Ways {
  const both = new Map(a);
  addWays(both, b, factor);
  return both;
}

/** Builds parts and notes which position follows which. */
class Builder {
  readonly atoms: { source: string; flags: string }[] = [];
  readonly follow: Ways[] = [];
  approximate = false;
  readonly #within = new Set<AST.Node>();

  position(source: string, flags: string): Part {
    if (this.atoms.length >= MAX_POSITIONS) throw new TooLarge();
    const position = this.atoms.push({ source, flags }) - 1;
    this.follow.push(new Map());
    return { empty: 0, first: new Map([[position, 1]]), last: new Map([[position, 1]]) };
  }

  #link(from: Part, to: Part): void {
    for (const [position, ways] of from.last) addWays(this.follow[position]!, to.first, ways);
  }

  joined(a: Part, b: Part): Part {
    this.#link(a, b);
    return {
      empty: Math.min(MANY, a.empty * b.empty),
      first: sum(a.first, b.first, a.empty),
      last: sum(b.last, a.last, b.empty),
    };
  }

  either(parts: readonly Part[]): Part {
    const all = nothing(0);
    for (const part of parts) {
      all.empty = Math.min(MANY, all.empty + part.empty);
      addWays(all.first, part.first, 1);
      addWays(all.last, part.last, 1);
    }
    return all;
  }

  // A repetition that read nothing is not counted as one, so that there is one way to read nothing.
  optional(part: Part): Part {
    return { ...part, empty: 1 };
  }

  repeated(part: Part): Part {
    this.#link(part, part);
    return part;
  }

  alternatives(alternatives: readonly AST.Alternative[], flags: string): Part {
    return this.either(
      alternatives.map(({ elements }) =>
        elements.reduce((before, element) => this.joined(before, this.element(element, flags)), nothing()),
      ),
    );
  }

  element(node: AST.Element, flags: string): Part {
    switch (node.type) {
      case 'Group':
        return this.alternatives(node.alternatives, changedFlags(flags, node.modifiers));
      case 'CapturingGroup':
        return this.alternatives(node.alternatives, flags);
      case 'Quantifier':
        return this.quantified(node, flags);
      case 'Backreference':
        return this.backreference(node, flags);
      case 'Assertion':
        if (node.kind !== 'start' && node.kind !== 'end') this.approximate = true;
        if (!('alternatives' in node)) return nothing();
        // What is looked at is read from here too, but nothing goes on behind it.
        return { ...this.alternatives(node.alternatives, flags), empty: 1, last: new Map() };
      default:
        return this.position(node.raw, flags);
    }
  }

  quantified({ element, min, max }: AST.Quantifier, flags: string): Part {
    if (max === 0) return nothing();
    const copy = () => this.element(element, flags);
    const before = this.atoms.length;
    const one = copy();
    const room = Math.floor(MAX_NEEDED / Math.max(1, this.atoms.length - before));
    const exact = max <= MAX_COPIES || (max === min && min <= room);
    const needed = min <= room ? min : 1;
    const copies = exact ? max : Math.max(1, needed);
    if (!exact && (max !== Infinity || needed < min)) this.approximate = true;
    let all = exact ? one : this.repeated(one);
    if (min < copies) all = this.optional(all);
    for (let nth = copies - 1; nth > 0; nth--) {
      all = this.joined(copy(), all);
      if (nth > min) all = this.optional(all);
    }
    return all;
  }

  backreference(node: AST.Backreference, flags: string): Part {
    this.approximate = true;
    if (this.#within.has(node)) return nothing();
    this.#within.add(node);
    const groups = [node.resolved].flat().filter((group) => group.start > node.end || group.end < node.start);
    const part = this.optional(this.either(groups.map((group) => this.alternatives(group.alternatives, flags))));
    this.#within.delete(node);
    return part;
  }
}

function changedFlags(flags: string, modifiers: AST.Modifiers | null): string {
  const { add, remove } = modifiers ?? {};
  const kept = [...flags].filter((flag) => !(remove?.raw ?? '').includes(flag));
  return [...new Set([...kept, ...(add?.raw ?? '')])].join('');
}

function begins({ elements: [first] }: AST.Alternative): boolean {
  return first?.type === 'Assertion' && first.kind === 'start';
}

function ends({ elements }: AST.Alternative): boolean {
  const last = elements.at(-1);
  return last?.type === 'Assertion' && last.kind === 'end';
}

function lowest(bits: bigint): number | undefined {
  return bits === 0n ? undefined : (bits & -bits).toString(2).length - 1;
}

/**
 * The automaton of an expression. Where it is not exact it has more ways through than the expression, never fewer.
 *
 * @throws TooLarge, or a SyntaxError for what the parser does not know yet
 */
export function automatonOf({ source, flags }: RegExp): Automaton {
  const unicode = { unicode: flags.includes('u'), unicodeSets: flags.includes('v') };
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, unicode);
  const plain = flags.replace(/[dgy]/g, '');
  const builder = new Builder();
  const whole = builder.alternatives(pattern.alternatives, plain);
  // Without ^ every place of the text is tried as the beginning.
  const anchored = flags.includes('y') || (!flags.includes('m') && pattern.alternatives.every(begins));
  const searched = () => builder.optional(builder.repeated(builder.position('[^]', plain)));
  const root = anchored ? whole : builder.joined(searched(), whole);
  const { letters, classesOf } = classify(builder.atoms, source);
  return {
    size: builder.atoms.length,
    first: [...root.first.keys()],
    last: new Set(whole.last.keys()),
    next: builder.follow.map((ways) => [...ways.keys()]),
    isDouble: (from, to) => builder.follow[from]!.get(to) === MANY,
    common: (a, b) => lowest(classesOf[a]! & classesOf[b]!),
    reads: (state, letter) => (classesOf[state]! & (1n << BigInt(letter))) !== 0n,
    anyLetter: (state) => lowest(classesOf[state]!) ?? 0,
    letters,
    endAnchored: pattern.alternatives.every(ends),
    approximate: builder.approximate,
  };
}
