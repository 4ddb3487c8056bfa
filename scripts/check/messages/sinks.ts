// Which expressions of the source are messages for clients.
import ts from 'typescript5';
import type { TextResolver } from './resolve.ts';

/** Sources whose schemas check what developers write. */
const SETTINGS =
  /\/settings\/|setting-schemas|[-/](settings|setting-limits|options|declarations|variant|rule)\.ts$|^src\/extensions\/(audit|privacy|soft-delete)\/index\.ts$/;

/** Returns the value of a member of an object that is written in place, or of an object that is spread into it. */
function propertyOf(node: ts.Node | undefined, name: string): ts.Expression | undefined {
  if (!node) return undefined;
  if (ts.isParenthesizedExpression(node)) return propertyOf(node.expression, name);
  if (ts.isBinaryExpression(node)) return propertyOf(node.right, name);
  if (ts.isConditionalExpression(node)) return propertyOf(node.whenTrue, name) ?? propertyOf(node.whenFalse, name);
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  for (const one of node.properties) {
    if (ts.isSpreadAssignment(one)) {
      const inside = propertyOf(one.expression, name);
      if (inside) return inside;
    } else if (one.name.getText() === name) {
      if (ts.isPropertyAssignment(one)) return one.initializer;
      if (ts.isShorthandPropertyAssignment(one)) return one.name;
    }
  }
  return undefined;
}

/** Whether a type is that of the details of an error. */
const isDetails = (type: ts.Type | undefined): boolean =>
  type !== undefined && (type.isUnion() ? type.types.some(isDetails) : type.aliasSymbol?.name === 'ErrorDetails');

/** Errors whose messages reach clients, with the place of the message among the arguments. */
const ERRORS: Record<string, number> = {
  ApiError: 1,
  InputError: 1,
  RedisProblem: 0,
  RefusedFile: 0,
  ImageError: 1,
  WebhookVerificationError: 1,
};

/** Where plain errors become errors of clients. */
const PLAIN_ERRORS = /^src\/records\/bulk\/(?!index)/;

/** Members of objects that become messages in a way that the search does not follow. */
const MEMBERS: readonly [path: RegExp, name: string][] = [
  [/^src\/extensions\/passkeys\//, 'reason'],
  [/^src\/platform\/helpers\/errors\.ts$/, 'message'],
  [/^src\/(records\/bulk|jobs\/declarations)\//, 'error'],
  [/^src\/records\/bulk\//, 'notice'],
  [/^src\/extensions\/webhooks\/console\/explain-rules\.ts$/, 'text'],
  [/^src\/extensions\/webhooks\/engine\/recovery\/reclaim\.ts$/, 'error'],
  [/^src\/extensions\/webhooks\/console\/receiver\.ts$/, 'message'],
  [/^src\/runtime\/diagnosis\/processes\.ts$/, 'queues'],
];

/** Members of types whose texts pages show. */
const TYPED: readonly [path: RegExp, type: string, members: readonly string[]][] = [
  [/^src\/extensions\//, 'ConsoleConcern', ['message']],
  [/^src\/extensions\//, 'ConsoleTab', ['label']],
  [/^src\/extensions\/console\/operations\//, 'Concern', ['message']],
  [/^src\/extensions\/console\/operations\//, 'ServerProblem', ['problem', 'fix']],
  [/^src\/platform\/work\/processes\//, 'ProcessList', ['problem']],
];

/** What the console shows of accounts. */
const PANELS = /^src\/(accounts|extensions)\/.*(account-panel|account-section|password-panel)\.ts$/;

/** The errors of attempts, which may be single words, such as `timeout`. Elsewhere, such words are identifiers. */
const ATTEMPTS = 'src/extensions/webhooks/engine/delivery/attempt.ts';

/** Declarations whose texts become parts of messages in a way that the search does not follow. */
const PARTS: readonly (readonly [path: string, name: string])[] = [
  ['src/platform/data/redis/problems.ts', 'PROBLEMS'],
  ...['endpointRules', 'keyRules', 'recordRules', 'accessRules', 'createFilterRules', 'failedText'].map(
    (name) => ['src/extensions/webhooks/console/explain-rules.ts', name] as [string, string],
  ),
  ['src/extensions/webhooks/filters/evaluate.ts', 'RULE_ERROR'],
  ['src/extensions/webhooks/console/explain.ts', 'stateText'],
  ['src/extensions/webhooks/console/explain.ts', 'explainVerdict'],
  ['src/extensions/webhooks/engine/polling/look-ups.ts', 'UNDECRYPTABLE'],
  ['src/extensions/webhooks/sweeps.ts', 'NOT_ACKNOWLEDGED'],
  ['src/records/operations/read.ts', 'speedAdvice'],
  ...['TIMEOUT', 'ABORTED', 'NOT_ALLOWED', 'FAILURE_CLASSES', 'describeRequestError', 'describeErrorStatus'].map(
    (name) => [ATTEMPTS, name] as const,
  ),
];

const isPart = (node: ts.Node, path: string): boolean =>
  (ts.isVariableDeclaration(node) || ts.isFunctionDeclaration(node)) &&
  PARTS.some(([where, name]) => where === path && node.name?.getText() === name);

/** The words of a text that is written in place. */
const wordsOf = (node: ts.StringLiteralLike | ts.TemplateExpression): string =>
  ts.isTemplateExpression(node)
    ? [node.head, ...node.templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join('')
    : node.text;

const isCompared = ({ parent }: ts.Node) =>
  ts.isBinaryExpression(parent) && parent.operatorToken.kind !== ts.SyntaxKind.QuestionQuestionToken;

const wordsAt = (path: string) => (path === ATTEMPTS ? /[a-z]{4}/ : /^[A-Z][A-Za-z]{2}|[A-Z]{2} [a-z]|[a-z]{3} [a-z]/);

/** Returns the texts in a node of a file that have words and are not compared with anything. */
function partsIn(node: ts.Node, path: string): ts.Expression[] {
  if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node))
    return wordsAt(path).test(wordsOf(node)) && !isCompared(node) ? [node] : [];
  const found: ts.Expression[] = [];
  node.forEachChild((child) => {
    found.push(...partsIn(child, path));
  });
  return found;
}

/** What a search looks at: a node, and what is known about its file. */
export interface Place {
  checker: ts.TypeChecker;
  resolver: TextResolver;
  /** The path of the file. */
  path: string;
}

/** Whether a value of a type may be one of a named type. */
export const isOfType = (type: ts.Type | undefined, name: string): boolean =>
  type !== undefined &&
  (type.isUnionOrIntersection()
    ? type.types.some((one) => isOfType(one, name))
    : type.symbol?.name === name || type.aliasSymbol?.name === name);

const memberValue = (member: ts.ObjectLiteralElementLike): ts.Expression[] =>
  ts.isPropertyAssignment(member)
    ? [member.initializer]
    : ts.isShorthandPropertyAssignment(member)
      ? [member.name]
      : [];

const listGiven = (...nodes: readonly (ts.Expression | undefined)[]) => nodes.filter((one) => one !== undefined);

function messagesInObject(node: ts.ObjectLiteralExpression, { checker, path }: Place): ts.Expression[] {
  if (!SETTINGS.test(path) && propertyOf(node, 'code')?.getText() === "'custom'")
    return listGiven(propertyOf(node, 'message'));
  const type = checker.getContextualType(node);
  if (isDetails(type)) return node.properties.flatMap(memberValue);
  const shown = TYPED.flatMap(([where, name, members]) => (where.test(path) && isOfType(type, name) ? members : []));
  return node.properties.filter(({ name }) => name && shown.includes(name.getText())).flatMap(memberValue);
}

function messagesInAssignment({ left, right, operatorToken }: ts.BinaryExpression, { checker, path }: Place) {
  if (!/^(\?\?)?=$/.test(operatorToken.getText())) return [];
  if (!ts.isElementAccessExpression(left) && !ts.isPropertyAccessExpression(left)) return [];
  const isImport = PLAIN_ERRORS.test(path) && left.expression.getText() === 'errors';
  return isImport || isDetails(checker.getTypeAtLocation(left.expression)) ? [right] : [];
}

function messagesInCall(node: ts.CallExpression, { checker, resolver, path }: Place): ts.Expression[] {
  const signature = checker.getResolvedSignature(node)?.getDeclaration();
  const declaredIn = signature?.getSourceFile().fileName ?? '';
  const name = ts.isPropertyAccessExpression(node.expression) ? node.expression.name.text : '';
  const called = signature?.name?.getText();
  // Texts that are translated where they are.
  if (declaredIn.endsWith('/src/platform/languages/index.ts') && called === 'text') return node.arguments.slice(0, 1);
  if (signature && !('body' in signature && signature.body) && /\/src\/(?!platform\/)/.test(declaredIn)) {
    const index = signature.parameters.findIndex((parameter) => parameter.name.getText() === 'message');
    if (index !== -1) return listGiven(node.arguments[index]);
  }
  if (declaredIn.endsWith('/observability/finding.ts') && /^(ok|warning|failure)$/.test(node.expression.getText()))
    return [...node.arguments];
  // The rules of fields that an extension declares.
  if (path.startsWith('src/extensions/')) {
    if (name === 'pattern') return listGiven(node.arguments[1]);
    if (name === 'check' && node.arguments[0] && ts.isCallExpression(node.arguments[0])) return [node.arguments[0]];
  }
  if (SETTINGS.test(path) || !declaredIn.includes('/node_modules/zod/')) return [];
  return node.arguments
    .flatMap((one) => resolver.objectsOf(one))
    .flatMap((one) => listGiven(propertyOf(one, 'error'), propertyOf(one, 'message')));
}

/** Returns the names of the columns of a panel whose values are words. */
const wordColumns = (node: ts.Node): string[] =>
  Array.from(node.getSourceFile().text.matchAll(/name: '(\w+)', label: '[^']*', kind: 'word'/g), ([, name]) => name!);

/** Whether a member of a panel is a text that the console shows. */
function isOfPanel(node: ts.PropertyAssignment): boolean {
  const name = node.name.getText();
  const { parent } = node;
  if (/^(label|empty|intro|title|done|hint)$/.test(name)) return true;
  if (name === 'text') return propertyOf(parent, 'title') !== undefined;
  if (name === 'value') return propertyOf(parent, 'kind')?.getText() === "'word'";
  const isValue = ts.isPropertyAssignment(parent.parent) && parent.parent.name.getText() === 'values';
  return isValue && wordColumns(node).includes(name);
}

/** Returns the expressions in a node, apart from its children, that are messages. */
export function messagesIn(node: ts.Node, place: Place): ts.Expression[] {
  const { path } = place;
  if (ts.isNewExpression(node)) {
    const name = node.expression.getText();
    const index = name === 'Error' && PLAIN_ERRORS.test(path) ? 0 : ERRORS[name];
    return index === undefined ? [] : listGiven(node.arguments?.[index]);
  }
  if (ts.isPropertyAssignment(node)) {
    const isMember = MEMBERS.some(([where, name]) => where.test(path) && node.name.getText() === name);
    return isMember || (PANELS.test(path) && isOfPanel(node)) ? [node.initializer] : [];
  }
  if (isPart(node, path)) return partsIn(node, path);
  if (ts.isObjectLiteralExpression(node)) return messagesInObject(node, place);
  if (ts.isBinaryExpression(node)) return messagesInAssignment(node, place);
  return ts.isCallExpression(node) ? messagesInCall(node, place) : [];
}

/** Returns the expression in a node that has the messages of fields. */
export function detailsIn(node: ts.Node): ts.Expression | undefined {
  if (ts.isNewExpression(node) && /^(ApiError|InputError)$/.test(node.expression.getText())) {
    return propertyOf(node.arguments?.[2], 'details');
  }
  if (ts.isCallExpression(node) && /^(validationError|rejectRow)$/.test(node.expression.getText()))
    return node.arguments[0];
  return undefined;
}
