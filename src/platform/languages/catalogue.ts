/** Translations of messages: the text by the English message. Both may have placeholders for values, such as `{max}`. */
export type Translations = Readonly<Record<string, string>>;

/** The translations of one language, and its words between the items of a list. */
export interface LanguageTexts {
  messages: readonly Translations[];
  /** By the English word. */
  listWords: Readonly<Record<string, string>>;
  /** What separates the thousands of a number: 1.000. */
  thousands: string;
}

/** Translates texts into one language. A text that the catalogue does not have stays as it is. */
export type Translate = (text: string) => string;

/** Longer messages stay in English: no message of the catalogue is nearly as long. */
const MAX_LENGTH = 10_000;
/** How deep messages may be in the values of messages. */
const MAX_DEPTH = 3;
/** Longer lists stay as they are. */
const MAX_ITEMS = 50;

const PLACEHOLDER = /\{(\w+)(?::(\w+))?\}/;
const GROUPED_NUMBER = /^-?\d{1,3}(,\d{3})+$/;
const NUMBER = /^-?\d[\d.,]{0,40}(?:e[+-]\d{1,3})?$/;
const LIST_SEPARATOR = /(, | or | and )/;

/**
 * What a value is. Without a kind: any text, which stays. `number`; `text`: a message, which is translated as well; `texts`: a list of messages;
 * `list`: a list of names, of which only the words between them are translated.
 */
const KINDS = ['number', 'text', 'texts', 'list'];

interface Pattern {
  /** The texts around the values. Always one more than there are values. */
  literals: readonly string[];
  names: readonly string[];
  kinds: readonly (string | undefined)[];
  /** The translation: texts at even places, names of values at odd ones. */
  target: readonly string[];
}

/** Splits a text at its placeholders, such as `{max}` or `{max:number}`. */
function splitAtPlaceholders(text: string): Omit<Pattern, 'target'> {
  const parts = text.split(new RegExp(PLACEHOLDER, 'g'));
  return {
    literals: parts.filter((_, i) => i % 3 === 0),
    names: parts.filter((_, i) => i % 3 === 1),
    kinds: parts.filter((_, i) => i % 3 === 2),
  };
}

/** Returns what is wrong with the placeholders of a message and its translation. */
export function findPlaceholderErrors(english: string, translation: string): string[] {
  const { literals, names, kinds } = splitAtPlaceholders(english);
  const errors: string[] = [];
  if (literals.slice(1, -1).includes('')) errors.push('two placeholders need text between them');
  if (names.length > 0 && literals.every((literal) => literal.trim() === ''))
    errors.push('needs text besides its placeholders');
  if (new Set(names).size < names.length) errors.push('each placeholder needs a name of its own');
  for (const kind of kinds)
    if (kind !== undefined && !KINDS.includes(kind))
      errors.push(`"${kind}" is not a kind of values; kinds: ${KINDS.join(', ')}`);
  const used = splitAtPlaceholders(translation).names;
  for (const name of used.filter((one) => !names.includes(one)))
    errors.push(`has {${name}}, which the English message does not have`);
  return errors;
}

function compilePattern(english: string, translation: string): Pattern {
  const target = translation.split(new RegExp(PLACEHOLDER, 'g')).filter((_, i) => i % 3 !== 2);
  return { ...splitAtPlaceholders(english), target };
}

/**
 * Returns the values of a text that fits a pattern, in linear time: each value ends where the next literal first occurs, and the last
 * literal is the end of the text.
 */
function matchPattern(text: string, { literals, kinds }: Pattern): string[] | undefined {
  const [first, last] = [literals[0]!, literals.at(-1)!];
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return undefined;
  const end = text.length - last.length;
  const values: string[] = [];
  let from = first.length;
  for (const literal of literals.slice(1, -1)) {
    const at = text.indexOf(literal, from);
    if (at === -1 || at + literal.length > end) return undefined;
    values.push(text.slice(from, at));
    from = at + literal.length;
  }
  values.push(text.slice(from, end));
  return kinds.every((kind, i) => kind !== 'number' || NUMBER.test(values[i]!)) ? values : undefined;
}

const literalLength = ({ literals }: Pattern) => literals.reduce((sum, { length }) => sum + length, 0);

/**
 * Creates the translation into one language.
 *
 * @param own translations that are preferred to those of the language
 */
export function createTranslate({ messages, listWords, thousands }: LanguageTexts, own: Translations = {}): Translate {
  const exact = new Map<string, string>();
  const patterns: Pattern[] = [];
  for (const translations of [...messages, own]) {
    for (const [english, translation] of Object.entries(translations)) {
      if (PLACEHOLDER.test(english)) patterns.unshift(compilePattern(english, translation));
      else exact.set(english, translation);
    }
  }
  // The one with the longest literals fits best. Of equal ones, the last: patterns of the app come before those of the language.
  patterns.sort((a, b) => literalLength(b) - literalLength(a));

  const joinNames = (text: string) =>
    listWords[text] ??
    text
      .split(LIST_SEPARATOR)
      .map((part, i) => (i % 2 === 1 ? (listWords[part] ?? part) : part))
      .join('');

  function translateItems(text: string, depth: number): string {
    const parts = text.split(LIST_SEPARATOR);
    if (parts.length > 2 * MAX_ITEMS) return text;
    let translated = '';
    for (let i = 0; i < parts.length; i += 2) {
      if (i > 0) translated += listWords[parts[i - 1]!] ?? parts[i - 1];
      // An item may have a separator in its text.
      const withNext = exact.get(parts.slice(i, i + 3).join(''));
      translated += withNext ?? translate(parts[i]!, depth);
      if (withNext !== undefined) i += 2;
    }
    return translated;
  }

  function translateValue(value: string, kind: string | undefined, depth: number): string {
    if (depth >= MAX_DEPTH) return value;
    if (kind === 'number') return GROUPED_NUMBER.test(value) ? value.replaceAll(',', thousands) : value;
    if (kind === 'list') return joinNames(value);
    if (kind === 'texts') return translateItems(value, depth + 1);
    return kind === 'text' ? translate(value, depth + 1) : value;
  }

  function translate(text: string, depth: number): string {
    const known = exact.get(text);
    if (known !== undefined || text.length > MAX_LENGTH) return known ?? text;
    for (const pattern of patterns) {
      const values = matchPattern(text, pattern);
      if (values === undefined) continue;
      const { names, kinds, target } = pattern;
      const valueNamed = (name: string) => {
        const i = names.indexOf(name);
        return translateValue(values[i]!, kinds[i], depth);
      };
      return target.map((part, i) => (i % 2 === 1 ? valueNamed(part) : part)).join('');
    }
    return text;
  }

  return (text) => translate(text, 0);
}
