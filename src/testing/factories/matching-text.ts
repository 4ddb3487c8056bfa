import { type AST, RegExpParser } from '@eslint-community/regexpp';

/** Characters that are tried for a character class, readable ones first. */
const CANDIDATES = [
  ...'abcdefghijklmnopqrstuvwxyz',
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  ...'0123456789',
  ...'-_. @/:+,;!?#%&*()[]{}=~^$|<>"\'\\',
];
/** Code points that are tried if none of those is in the class. */
const MAX_CODE_POINT = 0x2fff;
/** The most additional repetitions of `*`, `+` and `{n,}` that are tried to reach a minimum length. */
const MAX_EXTRA = 64;

/** Generates a text for the nodes of a pattern. */
class Generator {
  readonly #flags: string;
  readonly #extra: number;
  readonly #groups = new Map<AST.CapturingGroup, string>();
  readonly #choices = new Map<string, readonly string[]>();
  #seed: number;

  constructor(flags: string, extra: number, seed: number) {
    this.#flags = flags;
    this.#extra = extra;
    this.#seed = seed;
  }

  /** Uses a part of the seed, so that different seeds give different texts. */
  #choose<T>(choices: readonly T[]): T | undefined {
    const chosen = choices[this.#seed % choices.length];
    this.#seed = Math.floor(this.#seed / choices.length);
    return chosen;
  }

  #charactersIn(set: AST.CharacterSet | AST.CharacterClass | AST.ExpressionCharacterClass): readonly string[] {
    const known = this.#choices.get(set.raw);
    if (known !== undefined) return known;
    const regex = new RegExp(`^(?:${set.raw})$`, this.#flags);
    let found = CANDIDATES.filter((character) => regex.test(character));
    for (let code = 0; found.length === 0 && code <= MAX_CODE_POINT; code++)
      if (regex.test(String.fromCodePoint(code))) found = [String.fromCodePoint(code)];
    this.#choices.set(set.raw, found);
    return found;
  }

  #repeat({ element, min, max }: AST.Quantifier): string {
    const count = Math.min(max, min + this.#extra);
    return Array.from({ length: count }, () => this.textOf(element)).join('');
  }

  textOf(node: AST.Element): string {
    switch (node.type) {
      case 'Character':
        return String.fromCodePoint(node.value);
      case 'CharacterSet':
      case 'CharacterClass':
      case 'ExpressionCharacterClass':
        return this.#choose(this.#charactersIn(node)) ?? '';
      case 'Quantifier':
        return this.#repeat(node);
      case 'Group':
        return this.textOfAny(node.alternatives);
      case 'CapturingGroup': {
        const text = this.textOfAny(node.alternatives);
        this.#groups.set(node, text);
        return text;
      }
      case 'Backreference':
        return [node.resolved]
          .flat()
          .map((group) => this.#groups.get(group) ?? '')
          .join('');
      default:
        // Assertions match no characters. Whether they hold is checked with the whole text.
        return '';
    }
  }

  textOfAny(alternatives: readonly AST.Alternative[]): string {
    const [first] = alternatives;
    return (first?.elements ?? []).map((element) => this.textOf(element)).join('');
  }
}

/**
 * Generates a text that a pattern matches.
 *
 * @param seed different seeds give different texts, as far as the pattern allows
 * @param isAccepted further conditions on the text
 * @returns undefined if no such text was found, for example because the pattern has lookaheads
 */
export function generateMatchingText(
  { source, flags }: RegExp,
  seed: number,
  isAccepted: (text: string) => boolean,
): string | undefined {
  // A global or sticky expression would continue where its last match ended.
  const plainFlags = flags.replaceAll(/[gy]/g, '');
  const regex = new RegExp(source, plainFlags);
  const options = { unicode: flags.includes('u'), unicodeSets: flags.includes('v') };
  const { alternatives } = new RegExpParser().parsePattern(source, 0, source.length, options);
  for (let extra = 0; extra <= MAX_EXTRA; extra++) {
    for (const alternative of alternatives) {
      const text = new Generator(plainFlags, extra, seed).textOfAny([alternative]);
      if (regex.test(text) && isAccepted(text)) return text;
    }
  }
  return undefined;
}
