// Finds texts of the pages that are written where they are shown: only files called texts*.ts have texts, so that every language has all of them.
// Arguments: paths below packages/pages/src to limit the search.
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import ts from 'typescript5';

const SOURCES = 'packages/pages/src/';
/** Pages that are not translated: code for developers, and scripts without a user. */
const EXCLUDED = /^(push\/sw|kit\/snippets|reference\/(example|runner\/samples))/;
/** Attributes and members that people read. */
const SHOWN =
  /^(title|label|aria-label|placeholder|alt|text|message|heading|hint|help|description|question|confirm|submit|caption|empty|intro|note|header|action|done|detail|unreachable|unexpected|tooltip|summary)$/;
/** Operators whose literals are not shown. */
const COMPARISONS = new Set([ts.SyntaxKind.EqualsEqualsEqualsToken, ts.SyntaxKind.ExclamationEqualsEqualsToken]);
/** Functions whose first argument people read. */
const SHOWS = /^(showToast|showError|alert|confirm)$/;

/** Whether a text has a word, and is not an identifier, a path, an address, an abbreviation such as a method of HTTP, or code. */
const isProse = (text: string) =>
  /\p{L}{2}/u.test(text) && !/^([a-z][\w.:-]*|[A-Z]+|[#./][\S]*|https?:\S*)$/.test(text.trim());

function literalOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map(({ literal }) => literal)].map((one) => one.text).join('…');
  if (ts.isConditionalExpression(node)) return literalOf(node.whenTrue) ?? literalOf(node.whenFalse);
  if (ts.isBinaryExpression(node) && !COMPARISONS.has(node.operatorToken.kind))
    return literalOf(node.right) ?? literalOf(node.left);
  if (ts.isParenthesizedExpression(node)) return literalOf(node.expression);
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) return literalOf(node.body);
  return undefined;
}

const nameOf = (name: ts.Node) => (ts.isStringLiteralLike(name) || ts.isIdentifier(name) ? name.text : name.getText());

/** Returns the text that a node shows to people; undefined if it shows none. */
function shownText(node: ts.Node): string | undefined {
  if (ts.isJsxText(node)) return /\p{L}{2}/u.test(node.text) ? node.text.trim() : undefined;
  if (ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent) && node.expression) return literalOf(node.expression);
  if (ts.isJsxAttribute(node) && node.initializer && SHOWN.test(node.name.getText())) {
    const value = ts.isJsxExpression(node.initializer) ? node.initializer.expression : node.initializer;
    return value && literalOf(value);
  }
  if (ts.isPropertyAssignment(node) && SHOWN.test(nameOf(node.name))) return literalOf(node.initializer);
  if (ts.isCallExpression(node) && SHOWS.test(node.expression.getText()) && node.arguments[0])
    return literalOf(node.arguments[0]);
  if (ts.isNewExpression(node) && /Error$/.test(node.expression.getText()))
    return node.arguments?.map(literalOf).find((one) => one);
  return undefined;
}

/** Whether a node shows code, which is the same in every language. */
const isCode = (node: ts.Node) => ts.isJsxElement(node) && node.openingElement.tagName.getText() === 'code';

function findTexts(file: string): string[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(file, 'utf8'),
    ts.ScriptTarget.Latest,
    true,
    file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    if (isCode(node)) return;
    const text = shownText(node);
    if (text !== undefined && isProse(text))
      found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1} "${text}"`);
    else node.forEachChild(visit);
  };
  visit(source);
  return found;
}

const folders = process.argv.slice(2);
const found = globSync(`${SOURCES}**/*.{ts,tsx}`)
  .sort()
  .filter((file) => !basename(file).startsWith('texts') && !file.endsWith('.d.ts'))
  .map((file) => file.slice(SOURCES.length))
  .filter((path) => !EXCLUDED.test(path) && (folders.length === 0 || folders.some((one) => path.startsWith(one))))
  .flatMap((path) => findTexts(SOURCES + path));
for (const one of found) console.error(`${one} belongs to a texts file, which has it in every language.`);
if (found.length > 0) process.exitCode = 1;
