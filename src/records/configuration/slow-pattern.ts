import { createContext, Script } from 'node:vm';
import { type Attack, attacksOn } from './patterns/attacks.ts';
import { automatonOf, TooLarge } from './patterns/automaton.ts';
import { TooManyWays } from './patterns/pumps.ts';

/** Whether some text of at most so many characters makes an expression backtrack for longer than a request may take. */
export type SlowPattern = (regex: RegExp, most: number) => boolean;

// A busy machine makes a quick expression look slow once; what backtracks stays slow however often and long it is tried.
const LOOKS_MS: readonly number[] = [50, 100, 250, 1000];
/** Stands for texts without a declared maximum. */
const LONGEST_PROBE = 5000;
/** For expressions that are too large to be looked through. */
const BLIND: readonly Attack[] = [...'aA0 -_.:/@,"'].map((repeated) => ({
  head: '',
  pumps: [{ repeated, join: '' }],
  tails: ['', '\u0001'],
  most: LONGEST_PROBE,
}));

const script = new Script('regex.test(text)');

function attacks(regex: RegExp): readonly Attack[] {
  try {
    return attacksOn(automatonOf(regex));
  } catch (error) {
    // A parser that is older than the engine does not know all that the engine does.
    if (error instanceof TooLarge || error instanceof TooManyWays || error instanceof SyntaxError) return BLIND;
    throw error;
  }
}

/** An attack with as many rounds as a text has room for. */
function* textsOf({ head, pumps, tails }: Attack, length: number): Generator<string> {
  const sum = (texts: readonly string[]) => texts.reduce((all, text) => all + text.length, 0);
  const round = sum(pumps.map(({ repeated }) => repeated));
  const room =
    length - head.length - sum(pumps.map(({ join }) => join)) - Math.max(...tails.map((tail) => tail.length));
  const rounds = Math.max(1, Math.floor(room / round));
  const body = head + pumps.map(({ repeated, join }) => repeated.repeat(rounds) + join).join('');
  for (const tail of tails) yield body + tail;
}

/**
 * Looks for texts that can be read in ever more ways as they grow, and tries those: what has none takes a time that grows with
 * the text's length alone, and what looks dangerous but is not (a repetition with a low limit, a short text) passes the trial.
 */
function isSlowPattern(regex: RegExp, most: number, looksMs: readonly number[]): boolean {
  const found = attacks(regex);
  if (found.length === 0) return false;
  const sandbox = createContext({ regex: new RegExp(regex.source, regex.flags.replace('g', '')), text: '' });
  const answers = (budget: number) => {
    try {
      script.runInContext(sandbox, { timeout: budget });
      return true;
    } catch {
      return false;
    }
  };
  for (const attack of found) {
    for (const text of textsOf(attack, Math.min(most, attack.most, LONGEST_PROBE))) {
      sandbox.text = text;
      if (!looksMs.some(answers)) return true;
    }
  }
  return false;
}

/**
 * Judges patterns, each only once.
 *
 * @param looksMs how long it may take each time it is tried, in milliseconds
 */
export function createSlowPattern(looksMs = LOOKS_MS): SlowPattern {
  const known = new Map<string, boolean>();
  return (regex, most) => {
    const key = `${most} ${regex}`;
    const slow = known.get(key) ?? isSlowPattern(regex, most, looksMs);
    known.set(key, slow);
    return slow;
  };
}
