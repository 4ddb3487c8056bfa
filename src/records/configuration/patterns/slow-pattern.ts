import { createContext, Script } from 'node:vm';
import {
  findExponentialPumps,
  findPolynomialPumps,
  findStronglyConnectedComponents,
  type Pump,
  shortestWordBetween,
  TooAmbiguousError,
} from './ambiguity.ts';
import { buildNfa, type Nfa, NfaTooLargeError } from './nfa.ts';

/**
 * Attack strings that make an expression backtrack: `head`, then each pump repeated many times with the text that joins it to the next
 * pump, then a tail.
 */
interface Attack {
  head: string;
  pumps: readonly { repeated: string; join: string }[];
  /** Tails that make every path fail, the most likely first. */
  tails: readonly string[];
  /** The longest attack string that is worth testing, in characters. */
  maxLength: number;
}

/** Maximum number of state sets to search for a tail. */
const MAX_STATE_SETS = 300;

/** The states reached from the given states after reading a text. */
function statesAfterText(nfa: Nfa, states: ReadonlySet<number>, text: readonly number[]): Set<number> {
  let now = new Set(states);
  for (const letter of text) {
    const reads = (state: number) => nfa.reads(state, letter);
    now = new Set([...now].flatMap((state) => nfa.next[state]!).filter(reads));
  }
  return now;
}

/** Rounds after which a loop has nearly always reached all of its states. */
const MAX_ROUNDS = 20;

/** Every state that the given states reach after any number of rounds of a loop, up to `MAX_ROUNDS`. */
function statesAfterRounds(nfa: Nfa, states: ReadonlySet<number>, word: readonly number[]): Set<number> {
  const all = new Set<number>();
  let now: ReadonlySet<number> = states;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    now = statesAfterText(nfa, now, word);
    for (const state of now) all.add(state);
  }
  return all;
}

/** The shortest tail after which no path matches; undefined if there is none. */
function findFailingTail(nfa: Nfa, from: Set<number>): string | undefined {
  const canMatch = (states: ReadonlySet<number>) => [...states].some((state) => nfa.last.has(state));
  const seen = new Set<string>();
  let level: { states: Set<number>; text: string }[] = [{ states: from, text: '' }];
  while (level.length > 0 && seen.size < MAX_STATE_SETS) {
    const deeper: typeof level = [];
    for (const { states, text } of level) {
      if (!canMatch(states)) return text;
      // Without a final $, the expression has matched already, whatever follows.
      if (!nfa.endAnchored) continue;
      for (const [letter, character] of nfa.letters.entries()) {
        const following = statesAfterText(nfa, states, [letter]);
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

/** The attack with this head and these pumps, given as letters. */
function buildAttack(nfa: Nfa, head: readonly number[], rounds: readonly Round[], maxLength: number): Attack {
  const toText = (letters: readonly number[]) => letters.map((letter) => nfa.letters[letter]!).join('');
  const starts = nfa.first.filter((first) => nfa.reads(first, head[0]!));
  let states = statesAfterText(nfa, new Set(starts), head.slice(1));
  for (const { word, join } of rounds) states = statesAfterText(nfa, statesAfterRounds(nfa, states, word), join);
  const tail = findFailingTail(nfa, states);
  // The parts that the NFA leaves out may still make the match fail.
  const guesses = nfa.approximate || tail === undefined ? ['', ...nfa.letters] : [];
  return {
    head: toText(head),
    pumps: rounds.map(({ word, join }) => ({ repeated: toText(word), join: toText(join) })),
    tails: [...new Set([...(tail === undefined ? [] : [tail]), ...guesses])],
    maxLength,
  };
}

/** The word that leads to the first loop of a chain. */
function wordLeadingTo(nfa: Nfa, { from }: Pump): number[] {
  for (const first of nfa.first) {
    const path = shortestWordBetween(nfa, first, from);
    if (path !== undefined) return [nfa.anyLetter(first), ...path];
  }
  throw new Error('every state can be reached');
}

function buildChainAttack(nfa: Nfa, chain: readonly Pump[]): Attack {
  const rounds = chain.map(({ to, word }, i) => {
    const next = chain[i + 1];
    return { word, join: next === undefined ? [] : shortestWordBetween(nfa, to, next.from)! };
  });
  return buildAttack(nfa, wordLeadingTo(nfa, chain[0]!), rounds, Number.POSITIVE_INFINITY);
}

/** The longest chain of loops that a text can take one after the other. Each loop multiplies the number of paths by the text's length. */
function findLongestChain(nfa: Nfa, pumps: readonly Pump[]): Pump[] {
  const best = new Map<Pump, Pump[]>();
  const findLongestChainFrom = (pump: Pump): Pump[] => {
    const known = best.get(pump);
    if (known !== undefined) return known;
    best.set(pump, [pump]);
    let rest: Pump[] = [];
    for (const next of pumps) {
      if (next === pump || shortestWordBetween(nfa, pump.to, next.from) === undefined) continue;
      const chain = findLongestChainFrom(next);
      if (chain.length > rest.length && !chain.includes(pump)) rest = chain;
    }
    best.set(pump, [pump, ...rest]);
    return best.get(pump)!;
  };
  return pumps.map(findLongestChainFrom).reduce((a, b) => (b.length > a.length ? b : a), []);
}

/** Maximum number of letters whose pairs are also tried as repetitions. */
const MAX_PAIRED_LETTERS = 5;
const MAX_TAILS = 2;
/** Maximum characters of a simple attack string: enough for worse than quadratic time to show. */
const MAX_SIMPLE_LENGTH = 1000;

/**
 * The simplest repetitions after the same head: for short texts, these can be slower to match than the longer pumps that the criteria find.
 */
function buildSimpleAttacks(nfa: Nfa, pump: Pump): Attack[] {
  const letters = nfa.letters.map((_character, letter) => letter);
  const few = letters.slice(0, MAX_PAIRED_LETTERS);
  const words = [
    ...letters.map((letter) => [letter]),
    ...few.flatMap((a) => few.filter((b) => b !== a).map((b) => [a, b])),
  ];
  const head = wordLeadingTo(nfa, pump);
  return words.map((word) => {
    const attack = buildAttack(nfa, head, [{ word, join: [] }], MAX_SIMPLE_LENGTH);
    return { ...attack, tails: attack.tails.slice(0, MAX_TAILS) };
  });
}

/**
 * Attack strings for an expression; none if the expression reads every text in linear time. The strings follow the two criteria of Weber
 * and Seidl (On the degree of ambiguity of finite automata, 1991): exponential and polynomial ambiguity.
 *
 * @throws TooAmbiguousError
 */
function buildAttacks(nfa: Nfa): Attack[] {
  const components = findStronglyConnectedComponents(nfa);
  const doubled = findExponentialPumps(nfa, components).map((pump) => [pump]);
  const chains = doubled.length > 0 ? doubled : [findLongestChain(nfa, findPolynomialPumps(nfa, components))];
  // The criteria assume unbounded repetitions.
  const inexact = nfa.approximate || doubled.length > 0;
  return chains.flatMap((chain) => {
    const [first] = chain;
    if (first === undefined) return [];
    return [buildChainAttack(nfa, chain), ...(inexact ? buildSimpleAttacks(nfa, first) : [])];
  });
}

/** Whether a text of at most `maxLength` characters can make an expression backtrack for longer than a request may take. */
export type SlowPatternCheck = (regex: RegExp, maxLength: number) => boolean;

// On a busy machine a fast expression may time out once; one that backtracks times out in every trial.
const TRIALS_MS: readonly number[] = [50, 100, 250, 1000];
/** The length of attack strings for fields without a declared maximum. */
const MAX_ATTACK_LENGTH = 5000;
/** Attack strings for expressions that are too large to analyse. */
const GENERIC_ATTACKS: readonly Attack[] = [...'aA0 -_.:/@,"'].map((repeated) => ({
  head: '',
  pumps: [{ repeated, join: '' }],
  tails: ['', '\u0001'],
  maxLength: MAX_ATTACK_LENGTH,
}));

const script = new Script('regex.test(text)');

function findAttacks(regex: RegExp): readonly Attack[] {
  try {
    return buildAttacks(buildNfa(regex));
  } catch (error) {
    // The parser may not know the newest syntax of the engine.
    if (error instanceof NfaTooLargeError || error instanceof TooAmbiguousError || error instanceof SyntaxError)
      return GENERIC_ATTACKS;
    throw error;
  }
}

/** The attack strings of an attack, with as many rounds as fit. */
function* generateAttackStrings({ head, pumps, tails }: Attack, length: number): Generator<string> {
  const sumLengths = (texts: readonly string[]) => texts.reduce((all, text) => all + text.length, 0);
  const round = sumLengths(pumps.map(({ repeated }) => repeated));
  const room =
    length - head.length - sumLengths(pumps.map(({ join }) => join)) - Math.max(...tails.map((tail) => tail.length));
  const rounds = Math.max(1, Math.floor(room / round));
  const body = head + pumps.map(({ repeated, join }) => repeated.repeat(rounds) + join).join('');
  for (const tail of tails) yield body + tail;
}

/**
 * Finds attack strings by the ambiguity of the expression's NFA and measures them. An unambiguous expression takes linear time and is not
 * measured. An expression that is ambiguous but harmless (a repetition with a low limit, a short text) passes the measurement.
 */
function isSlowPattern(regex: RegExp, maxLength: number, trialsMs: readonly number[]): boolean {
  const found = findAttacks(regex);
  if (found.length === 0) return false;
  const sandbox = createContext({ regex: new RegExp(regex.source, regex.flags.replace('g', '')), text: '' });
  const finishesWithinMs = (budget: number) => {
    try {
      script.runInContext(sandbox, { timeout: budget });
      return true;
    } catch {
      return false;
    }
  };
  for (const attack of found) {
    for (const text of generateAttackStrings(attack, Math.min(maxLength, attack.maxLength, MAX_ATTACK_LENGTH))) {
      sandbox.text = text;
      if (!trialsMs.some(finishesWithinMs)) return true;
    }
  }
  return false;
}

/**
 * Creates the check whether a pattern can backtrack for too long. Results are cached.
 *
 * No package replaces this analysis. `recheck` 4.5.0 needs 0.5 to 1.2 seconds and 80 to 140 MB of memory for each process that checks a common pattern
 * for e-mail addresses (here: 2 ms), and installs 57 MB. Of the 61 cases in test/records/configuration/slow-patterns.test.ts, `safe-regex2` 5.1.2 fails
 * 28, `redos-detector` 6.1.4 fails 18 and `scslre` 0.3.0 fails 13.
 *
 * @param trialsMs the time limit of each trial, in milliseconds
 */
export function createSlowPatternCheck(trialsMs = TRIALS_MS): SlowPatternCheck {
  const known = new Map<string, boolean>();
  return (regex, maxLength) => {
    const key = `${maxLength} ${regex}`;
    const slow = known.get(key) ?? isSlowPattern(regex, maxLength, trialsMs);
    known.set(key, slow);
    return slow;
  };
}
