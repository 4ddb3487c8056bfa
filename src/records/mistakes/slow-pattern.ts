import { createContext, Script } from 'node:vm';

const BUDGET_MS = 50;
// A busy machine makes a quick expression look slow once; what backtracks stays slow however often and long it is tried.
const SECOND_LOOKS_MS = [100, 250, 250];
/** Stands for texts without a declared maximum. */
const LONGEST_PROBE = 5000;
/** Of letters, digits and marks; those that the expression itself names are added. */
const ALPHABET = 'aA0 -_.:/@,"';
const MOST_LETTERS = 20;
const MOST_OF_A_PAIR = 6;

const script = new Script('regex.test(text)');

interface Quantified {
  inner: string;
  quantifier: string;
}

/** The groups of an expression that are repeated, with their quantifiers. Look-arounds are left out. */
function quantifiedGroups(source: string): Quantified[] {
  const found: Quantified[] = [];
  const opened: number[] = [];
  let inClass = false;
  for (let i = 0; i < source.length; i++) {
    const character = source[i];
    if (character === '\\') i++;
    else if (inClass) inClass = character !== ']';
    else if (character === '[') inClass = true;
    else if (character === '(') opened.push(i + 1);
    else if (character === ')') {
      const inner = source.slice(opened.pop(), i).replace(/^\?(?::|<\w+>)/, '');
      const quantifier = /^(?:[*+]|\{\d+(?:,\d*)?\})/.exec(source.slice(i + 1))?.[0];
      if (quantifier !== undefined && !inner.startsWith('?')) found.push({ inner, quantifier });
    }
  }
  return found;
}

/** The plain characters that an expression begins with. */
function literalStart(source: string): string {
  return /^\^?((?:[\w :/@-](?![*+?{]))*)/.exec(source)?.[1] ?? '';
}

function* probes(source: string, length: number): Generator<string> {
  const named = [...new Set(source.replace(/\\[a-zA-Z]/g, '').replace(/[\\^$.*+?()[\]{}|]/g, ''))];
  const letters = [...new Set([...named, ...ALPHABET])].slice(0, MOST_LETTERS);
  const pumps = [...letters];
  for (const a of letters.slice(0, MOST_OF_A_PAIR))
    for (const b of letters.slice(0, MOST_OF_A_PAIR)) if (a !== b) pumps.push(a + b);
  const start = literalStart(source);
  for (const pump of pumps) yield `${(start + pump.repeat(length / pump.length)).slice(0, length - 1)}\u0001`;
}

/**
 * Whether some text makes an expression backtrack for longer than a request may take. Tried out rather than read from its
 * form: of two expressions that look alike, `(-[a-z]+)*` is quick and `([a-z]+)*` is not.
 *
 * @param most characters that a text can have when the expression is asked
 */
export function isSlowPattern(regex: RegExp, most = Number.POSITIVE_INFINITY): boolean {
  const { source } = regex;
  // With one repetition and one way through it the time grows with the square of the length at most.
  if ((source.match(/[*+|]|\{\d+/g) ?? []).length < 2) return false;
  const flags = regex.flags.replace(/[gy]/g, '');
  const length = Math.min(most, LONGEST_PROBE);
  const sandbox = createContext({ regex, text: '' });
  const parts = quantifiedGroups(source).map(({ inner, quantifier }) => `^(?:${inner})${quantifier}$`);
  for (const part of [source, ...parts]) {
    const compiled = compile(part, flags);
    if (compiled === undefined) continue;
    sandbox.regex = compiled;
    const answers = (budget: number) => {
      try {
        script.runInContext(sandbox, { timeout: budget });
        return true;
      } catch {
        return false;
      }
    };
    for (const text of probes(part, length)) {
      sandbox.text = text;
      if (!answers(BUDGET_MS) && !SECOND_LOOKS_MS.some(answers)) return true;
    }
  }
  return false;
}

// A part that refers to a group outside of it is no expression of its own.
function compile(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}
