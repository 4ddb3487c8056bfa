import type { Automaton } from './automaton.ts';
import { componentsOf, pathBetween } from './graph.ts';
import { loopsInTwoWays, type Pump, pumpsOf } from './pumps.ts';

/** Texts that make an expression try many ways: `head`, then each pump many times with what joins it to the next, then an end. */
export interface Attack {
  head: string;
  pumps: readonly { repeated: string; join: string }[];
  /** Ends behind which no way through matches, the likeliest first. */
  tails: readonly string[];
  /** Characters beyond which a text shows nothing more. */
  most: number;
}

/** Sets of states that are looked at for an end. */
const MAX_SETS = 300;

/** The states after a text was read from some others. */
function after(automaton: Automaton, states: ReadonlySet<number>, text: readonly number[]): Set<number> {
  let now = new Set(states);
  for (const letter of text) {
    const reads = (state: number) => automaton.reads(state, letter);
    now = new Set([...now].flatMap((state) => automaton.next[state]!).filter(reads));
  }
  return now;
}

/** Rounds after which the states of a loop have come round themselves, nearly always. */
const MAX_ROUNDS = 20;

/** Every state that a text can be in after some rounds of a loop. */
function afterRounds(automaton: Automaton, states: ReadonlySet<number>, word: readonly number[]): Set<number> {
  const all = new Set<number>();
  let now: ReadonlySet<number> = states;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    now = after(automaton, now, word);
    for (const state of now) all.add(state);
  }
  return all;
}

/** The shortest end behind which no state is an end of a match; undefined when there is none. */
function failingTail(automaton: Automaton, from: Set<number>): string | undefined {
  const matched = (states: ReadonlySet<number>) => [...states].some((state) => automaton.last.has(state));
  const seen = new Set<string>();
  let level: { states: Set<number>; text: string }[] = [{ states: from, text: '' }];
  while (level.length > 0 && seen.size < MAX_SETS) {
    const deeper: typeof level = [];
    for (const { states, text } of level) {
      if (!matched(states)) return text;
      // Without $ a match is found already.
      if (!automaton.endAnchored) continue;
      for (const [letter, character] of automaton.letters.entries()) {
        const following = after(automaton, states, [letter]);
        const key = [...following].sort().join();
        if (seen.has(key)) continue;
        seen.add(key);
        deeper.push({ states: following, text: text + character });
      }
    }
    level = deeper;
  }
  return undefined;
}

interface Round {
  word: readonly number[];
  join: readonly number[];
}

/** An attack of which beginning and pumps are known, as letters. */
function attackOf(automaton: Automaton, head: readonly number[], rounds: readonly Round[], most: number): Attack {
  const write = (letters: readonly number[]) => letters.map((letter) => automaton.letters[letter]!).join('');
  const begun = automaton.first.filter((first) => automaton.reads(first, head[0]!));
  let states = after(automaton, new Set(begun), head.slice(1));
  for (const { word, join } of rounds) states = after(automaton, afterRounds(automaton, states, word), join);
  const tail = failingTail(automaton, states);
  // What the automaton leaves out may make it fail all the same.
  const guesses = automaton.approximate || tail === undefined ? ['', ...automaton.letters] : [];
  return {
    head: write(head),
    pumps: rounds.map(({ word, join }) => ({ repeated: write(word), join: write(join) })),
    tails: [...new Set([...(tail === undefined ? [] : [tail]), ...guesses])],
    most,
  };
}

/** What is read until the first loop of a chain. */
function headOf(automaton: Automaton, { from }: Pump): number[] {
  for (const first of automaton.first) {
    const path = pathBetween(automaton, first, from);
    if (path !== undefined) return [automaton.anyLetter(first), ...path];
  }
  throw new Error('every state can be reached');
}

function chainAttack(automaton: Automaton, chain: readonly Pump[]): Attack {
  const rounds = chain.map(({ to, word }, i) => {
    const next = chain[i + 1];
    return { word, join: next === undefined ? [] : pathBetween(automaton, to, next.from)! };
  });
  return attackOf(automaton, headOf(automaton, chain[0]!), rounds, Number.POSITIVE_INFINITY);
}

/** The longest chain of loops that a text can stay in one after the other: each multiplies the ways by the text's length. */
function longestChain(automaton: Automaton, pumps: readonly Pump[]): Pump[] {
  const best = new Map<Pump, Pump[]>();
  const from = (pump: Pump): Pump[] => {
    const known = best.get(pump);
    if (known !== undefined) return known;
    best.set(pump, [pump]);
    let rest: Pump[] = [];
    for (const next of pumps) {
      if (next === pump || pathBetween(automaton, pump.to, next.from) === undefined) continue;
      const chain = from(next);
      if (chain.length > rest.length && !chain.includes(pump)) rest = chain;
    }
    best.set(pump, [pump, ...rest]);
    return best.get(pump)!;
  };
  return pumps.map(from).reduce((a, b) => (b.length > a.length ? b : a), []);
}

/** Letters that are repeated in pairs too. */
const MAX_PAIRED = 5;
const MAX_TAILS = 2;
/** Long enough for more than the square of it to show. */
const PLAIN_LENGTH = 1000;

/** The simplest repetitions, behind the same beginning: shorter rounds than those that the criteria give are worse where texts are short. */
function plainAttacks(automaton: Automaton, pump: Pump): Attack[] {
  const letters = automaton.letters.map((_character, letter) => letter);
  const few = letters.slice(0, MAX_PAIRED);
  const words = [
    ...letters.map((letter) => [letter]),
    ...few.flatMap((a) => few.filter((b) => b !== a).map((b) => [a, b])),
  ];
  const head = headOf(automaton, pump);
  return words.map((word) => {
    const attack = attackOf(automaton, head, [{ word, join: [] }], PLAIN_LENGTH);
    return { ...attack, tails: attack.tails.slice(0, MAX_TAILS) };
  });
}

/**
 * Texts under which an expression may backtrack for long: none for one that reads every text in a time that grows with its
 * length alone. By the two criteria of Weber and Seidl (On the degree of ambiguity of finite automata, 1991): a state that
 * comes back to itself in two ways by one word makes 2^n ways; a loop that a word can leave for another loop makes n.
 *
 * @throws TooManyWays
 */
export function attacksOn(automaton: Automaton): Attack[] {
  const components = componentsOf(automaton);
  const doubled = loopsInTwoWays(automaton, components).map((pump) => [pump]);
  const chains = doubled.length > 0 ? doubled : [longestChain(automaton, pumpsOf(automaton, components))];
  // The criteria are about repetitions without a limit.
  const inexact = automaton.approximate || doubled.length > 0;
  return chains.flatMap((chain) => {
    const [first] = chain;
    if (first === undefined) return [];
    return [chainAttack(automaton, chain), ...(inexact ? plainAttacks(automaton, first) : [])];
  });
}
