import { redactTokens } from '../../observability/log.ts';

// The lexical rules of Postgres: https://www.postgresql.org/docs/current/sql-syntax-lexical.html
const BLANK = /[ \t\n\r\f\v]+/y;
const LINE_COMMENT = /--[^\n\r]*/y;
const STRING_START = /(?:[eEbBxXnN]|[uU]&)?'/y;
const IDENTIFIER = /"(?:[^"]|"")*"/y;
const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;
const PARAMETER = /\$\d+/y;
const DOLLAR_QUOTE = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const NUMBER = /\.?\d[\w.]*(?:(?<=[eE])[+-]\d+)?/y;

/** Returns what a sticky pattern matches at a position. */
function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** Returns the position behind blanks and line comments. */
function skipBlanks(text: string, start: number): number {
  let at = start;
  for (;;) {
    const skipped = matchAt(BLANK, text, at) ?? matchAt(LINE_COMMENT, text, at);
    if (skipped === undefined) return at;
    at += skipped.length;
  }
}

/**
 * Returns the position behind a string, or the end of a text that has no closing quote. A string continues in the next line.
 *
 * @param start behind the opening quote
 * @param hasEscapes whether a backslash escapes the next character
 */
function skipString(text: string, start: number, hasEscapes: boolean): number {
  let at = start;
  while (at < text.length) {
    if (hasEscapes && text[at] === '\\') at += 2;
    else if (text[at] !== "'") at += 1;
    else if (text[at + 1] === "'") at += 2;
    else {
      const end = at + 1;
      const next = skipBlanks(text, end);
      if (text[next] !== "'" || !/[\n\r]/.test(text.slice(end, next))) return end;
      at = next + 1;
    }
  }
  return text.length;
}

/** Returns the position behind a comment, which may contain others. */
function skipBlockComment(text: string, start: number): number {
  let depth = 1;
  let at = start + 2;
  while (at < text.length && depth > 0) {
    const pair = text.slice(at, at + 2);
    if (pair === '/*') depth += 1;
    else if (pair === '*/') depth -= 1;
    at += pair === '/*' || pair === '*/' ? 2 : 1;
  }
  return at;
}

/** Returns the position behind a string in dollar quotes, or the end of the text. */
function skipDollarString(text: string, start: number, quote: string): number {
  const end = text.indexOf(quote, start + quote.length);
  return end === -1 ? text.length : end + quote.length;
}

/** Returns the next token: where it ends, and its text without values. */
function readToken(text: string, at: number): [end: number, shown: string] {
  if (text.startsWith('/*', at)) return [skipBlockComment(text, at), ' '];
  const blank = matchAt(LINE_COMMENT, text, at) ?? matchAt(BLANK, text, at);
  if (blank !== undefined) return [at + blank.length, ' '];
  const opening = matchAt(STRING_START, text, at);
  if (opening !== undefined) return [skipString(text, at + opening.length, /^e/i.test(opening)), '?'];
  const quote = matchAt(DOLLAR_QUOTE, text, at);
  if (quote !== undefined) return [skipDollarString(text, at, quote), '?'];
  const number = matchAt(NUMBER, text, at);
  if (number !== undefined) return [at + number.length, '?'];
  const name = matchAt(WORD, text, at) ?? matchAt(PARAMETER, text, at) ?? matchAt(IDENTIFIER, text, at);
  if (name !== undefined) return [at + name.length, name];
  // An identifier without a closing quote may be a value that was cut.
  return text[at] === '"' ? [text.length, '?'] : [at + 1, text[at]!];
}

/**
 * Returns the text of a statement without values: every string and number becomes `?`, and comments are removed. Names and parameters such
 * as `$1` stay. A string, comment or name that does not end, because the text was cut, is removed up to the end.
 *
 * @param maxLength of the result; only a text of four times this length is read
 */
export function withoutValues(text: string, maxLength: number): string {
  const read = text.slice(0, 4 * maxLength);
  let shown = '';
  for (let at = 0; at < read.length; ) {
    const [end, token] = readToken(read, at);
    shown += token;
    at = end;
  }
  return redactTokens(shown.replaceAll(/ {2,}/g, ' ').trim()).slice(0, maxLength);
}
