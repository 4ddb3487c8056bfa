import { renamedExports, renamedModules, renamedSettings } from '../../platform/settings/former-names.ts';
import { type Token, tokenize } from './tokens.ts';

/** A place in a file that was renamed. */
export interface Renaming {
  /** From 1. */
  line: number;
  from: string;
  to: string;
}

interface Edit {
  start: number;
  end: number;
  text: string;
  renaming?: Renaming;
}

const OPENING = '({[';
const CLOSING = ')}]';
const PACKAGES = /^['"](?:belfry(?:\/client)?|@belfry\/client)['"]$/;

const isMark = (token: Token | undefined, text: string) => token?.kind === 'mark' && token.text === text;

/** Returns the index of the token that closes the bracket at `open`; the number of tokens if none does. */
function findClosing(tokens: readonly Token[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    const { kind, text } = tokens[at]!;
    if (kind !== 'mark') continue;
    if (OPENING.includes(text)) depth += 1;
    else if (CLOSING.includes(text) && --depth === 0) return at;
  }
  return tokens.length;
}

/** Returns the index of the comma or closing bracket after the value that begins at `from`. */
function findEndOfValue(tokens: readonly Token[], from: number, closing: number): number {
  for (let at = from; at < closing; at++) {
    const { kind, text } = tokens[at]!;
    if (kind === 'mark' && OPENING.includes(text)) at = findClosing(tokens, at);
    else if (isMark(tokens[at], ',')) return at;
  }
  return closing;
}

/** The source of one file and the edits that have been found in it. */
class FileEdits {
  readonly tokens: readonly Token[];
  readonly edits: Edit[] = [];
  private readonly source: string;

  constructor(source: string) {
    this.source = source;
    this.tokens = tokenize(source);
  }

  add({ start, end }: Pick<Token, 'start' | 'end'>, text: string, names: Pick<Renaming, 'from' | 'to'>): void {
    const line = this.source.slice(0, start).split('\n').length;
    this.edits.push({ start, end, text, renaming: { line, ...names } });
  }

  /** Replaces more of a place that was added. */
  replace({ start, end }: Pick<Token, 'start' | 'end'>, text: string): void {
    this.edits.push({ start, end, text });
  }

  textBetween(first: Token, last: Token): string {
    return this.source.slice(first.start, last.end);
  }

  apply(): string {
    let text = this.source;
    for (const { start, end, text: replacement } of this.edits.toSorted((a, b) => b.start - a.start))
      text = text.slice(0, start) + replacement + text.slice(end);
    return text;
  }
}

/** Returns a value with a unit: `'10m'` for 10, a template for an expression. A text has its unit already. */
function addUnit(value: string, unit: string): string {
  if (/^[\d._]+$/.test(value)) return `'${Number(value.replaceAll('_', ''))}${unit}'`;
  return /^['"`]/.test(value) ? value : `\`\${${value}}${unit}\``;
}

/** Renames the settings in the object that opens at a token. @param path the path of the object in its section, such as `auth.` */
function renameInObject(file: FileEdits, section: string, path: string, open: number): void {
  const { tokens } = file;
  const closing = findClosing(tokens, open);
  if (closing === tokens.length) return;
  for (let at = open + 1; at < closing; at++) {
    const token = tokens[at]!;
    const key = { ...token, text: token.kind === 'text' ? token.text.slice(1, -1) : token.text };
    const valueStart = isMark(tokens[at + 1], ':') ? at + 2 : at + 1;
    const end = findEndOfValue(tokens, valueStart, closing);
    const former = path + key.text;
    const renamed = Object.hasOwn(renamedSettings[section]!, former) ? renamedSettings[section]![former] : undefined;
    const value = valueStart < end ? file.textBetween(tokens[valueStart]!, tokens[end - 1]!) : key.text;
    const name = renamed?.to.slice(renamed.to.lastIndexOf('.') + 1);
    // An expression that may be undefined cannot get a unit, and a setting that has both names is an error that a person must solve.
    const isClear = (renamed?.unit === undefined || !/[?;]|\bundefined\b/.test(value)) && !value.startsWith('=');
    const isAlone = !tokens.slice(open, closing).some(({ text }) => text === name);
    if (renamed !== undefined && isClear && isAlone) {
      const written = renamed.unit === undefined ? value : addUnit(value, renamed.unit);
      const names = { from: `${section}.${former}`, to: `${section}.${renamed.to}` };
      // A comment between the name and the value stays.
      file.add({ start: key.start, end: key.end }, name!, names);
      if (valueStart < end) file.replace({ start: tokens[valueStart]!.start, end: tokens[end - 1]!.end }, written);
      else file.replace({ start: key.end, end: key.end }, `: ${written}`);
    } else if (isMark(tokens[valueStart], '{')) {
      renameInObject(file, section, `${former}.`, valueStart);
    }
    at = end;
  }
}

/** A name that a file imports from Belfry. */
interface ImportedName {
  token: Token;
  /** The name in the file. */
  local: string;
}

/** Returns the names that a file imports from Belfry. */
function findImports(tokens: readonly Token[]): ImportedName[] {
  const found: ImportedName[] = [];
  for (let at = 0; at < tokens.length; at++) {
    if (tokens[at]!.text !== 'import' || isMark(tokens[at + 1], '(')) continue;
    const open = tokens.findIndex((token, index) => index > at && (isMark(token, '{') || token.kind === 'text'));
    if (open === -1 || !isMark(tokens[open], '{')) continue;
    const closing = findClosing(tokens, open);
    if (PACKAGES.test(tokens[closing + 2]?.text ?? ''))
      for (let each = open + 1; each < closing; each++) {
        const token = tokens[each]!;
        if (token.kind !== 'word' || (token.text === 'type' && tokens[each + 1]?.kind === 'word')) continue;
        const isAliased = tokens[each + 1]?.text === 'as';
        found.push({ token, local: isAliased ? tokens[each + 2]!.text : token.text });
        if (isAliased) each += 2;
      }
    at = closing;
  }
  return found;
}

/** Renames modules wherever a text names one: in imports, exports, and mocks of tests. */
function renameModules(file: FileEdits): void {
  for (const token of file.tokens) {
    const from = token.kind === 'text' ? token.text.slice(1, -1) : '';
    if (!Object.hasOwn(renamedModules, from)) continue;
    const to = renamedModules[from]!;
    file.add(token, token.text.replace(from, to), { from, to });
  }
}

/** Renames what is imported from Belfry and every use of it. A name that is imported under another one is renamed in the import only. */
function renameExports(file: FileEdits, imports: readonly ImportedName[]): void {
  const { tokens } = file;
  for (const { token, local } of imports) {
    if (!Object.hasOwn(renamedExports, token.text)) continue;
    const to = renamedExports[token.text]!.to;
    for (const [index, use] of tokens.entries()) {
      if (use.kind !== 'word' || use.text !== token.text || (local !== token.text && use !== token)) continue;
      // A member or key with the same name is something else.
      const before = tokens[index - 1];
      const isKey = isMark(tokens[index + 1], ':') && !isMark(before, '?') && use !== token;
      if (isMark(before, '.') || isMark(before, '?.') || isKey) continue;
      file.add(use, to, { from: token.text, to });
    }
  }
}

/**
 * Renames what Belfry has renamed in the source of a file: exports, settings, and options of extensions.
 *
 * @returns the new source, and what was renamed, in the order of the file
 */
export function renameInSource(source: string): { source: string; renamings: Renaming[] } {
  const file = new FileEdits(source);
  const imports = findImports(file.tokens);
  renameModules(file);
  renameExports(file, imports);
  // Settings are those of Belfry only in a file that uses it, and options only in calls of what it exports.
  const sections = new Map(imports.map(({ token, local }) => [local, token.text]));
  if (imports.length > 0) sections.set('settings', 'settings');
  for (const [at, { kind, text }] of file.tokens.entries()) {
    const section = kind === 'word' ? sections.get(text) : undefined;
    if (section === undefined || !Object.hasOwn(renamedSettings, section) || isMark(file.tokens[at - 1], '.')) continue;
    const opener = file.tokens[at + 1];
    const isOpened = section === 'settings' ? isMark(opener, ':') || isMark(opener, '=') : isMark(opener, '(');
    if (isOpened && isMark(file.tokens[at + 2], '{')) renameInObject(file, section, '', at + 2);
  }
  const ordered = file.edits.toSorted((a, b) => a.start - b.start);
  return { source: file.apply(), renamings: ordered.flatMap(({ renaming }) => renaming ?? []) };
}
