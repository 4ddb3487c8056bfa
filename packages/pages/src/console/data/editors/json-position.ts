const SPACE = /[\t\n\r ]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;

/** Where the text of a value begins that is not valid JSON. Not every browser says so in its message. */
class JsonScanner {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** Moves past a pattern, if it is next. */
  take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at += found[0].length;
    return found !== null;
  }

  takeCharacter(character: string): boolean {
    this.take(SPACE);
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  /** Moves past the members of an object or the items of an array. */
  takeList(end: string, takeOne: () => boolean): boolean {
    if (this.takeCharacter(end)) return true;
    do {
      if (!takeOne()) return false;
    } while (this.takeCharacter(','));
    return this.takeCharacter(end);
  }

  takeMember(): boolean {
    this.take(SPACE);
    return this.take(STRING) && this.takeCharacter(':') && this.takeValue();
  }

  takeValue(): boolean {
    if (this.takeCharacter('{')) return this.takeList('}', () => this.takeMember());
    if (this.takeCharacter('[')) return this.takeList(']', () => this.takeValue());
    this.take(SPACE);
    return this.take(STRING) || this.takeScalar();
  }

  /** Moves past a number or a name. A number without a finite value, such as 1e400, would be sent as `null`. */
  takeScalar(): boolean {
    const start = this.at;
    if (!this.take(SCALAR)) return false;
    if (Math.abs(Number(this.text.slice(start, this.at))) !== Number.POSITIVE_INFINITY) return true;
    this.at = start;
    return false;
  }
}

/** Finds the first place at which a text is not valid JSON. Line and column count from 1. */
export function findJsonError(text: string): { line: number; column: number } {
  const scanner = new JsonScanner(text);
  if (scanner.takeValue()) scanner.take(SPACE);
  const before = text.slice(0, scanner.at);
  return { line: before.split('\n').length, column: scanner.at - before.lastIndexOf('\n') };
}
