/** A token of TypeScript. White space and comments are not tokens, and renaming needs no more than these four kinds. */
export interface Token {
  kind: 'word' | 'text' | 'number' | 'mark';
  text: string;
  /** Where the token begins in the source. */
  start: number;
  end: number;
}

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//;
const TEXT = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/;
// What is inside a template's `${}` is not looked at.
const TEMPLATE = /`(?:\\[\s\S]|[^`\\])*`/;
// A slash divides only after a value: a word, a number, or a closing bracket.
const REGULAR_EXPRESSION = /(?<![\w$)\]}]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/;
const WORD = /[\p{ID_Start}_$][\p{ID_Continue}$]*/u;
const NUMBER = /\d[\w.]*/;
const MARK = /=>|\?\.|\.\.\.|[^\s\w]/;

const TOKEN = new RegExp(
  [
    `(?<comment>${COMMENT.source})`,
    `(?<text>${TEXT.source}|${TEMPLATE.source}|${REGULAR_EXPRESSION.source})`,
    `(?<word>${WORD.source})`,
    `(?<number>${NUMBER.source})`,
    `(?<mark>${MARK.source})`,
  ].join('|'),
  'gu',
);

/** Splits source text into tokens. */
export function tokenize(source: string): Token[] {
  return [...source.matchAll(TOKEN)].flatMap(({ 0: text, index: start, groups }) => {
    if (groups!.comment !== undefined) return [];
    const kind = (['text', 'word', 'number', 'mark'] as const).find((name) => groups![name] !== undefined)!;
    return [{ kind, text, start, end: start + text.length }];
  });
}
