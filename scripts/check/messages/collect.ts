// Collects the English messages that clients can get, from the source.
import ts from 'typescript5';
import { actionInWords } from '../../../src/extensions/audit/console/words.ts';
import { actionsIn } from './actions.ts';
import { HOLE, TextResolver } from './resolve.ts';
import { detailsIn, messagesIn } from './sinks.ts';

/** A message in the source, with `HOLE` in the place of values. */
export interface SourceMessage {
  text: string;
  /** `src/accounts/routes.ts:12` */
  place: string;
}

const SOURCES = ['src', 'packages/verify-webhook/src'];

/** Sources whose messages no client gets: commands, tests, declarations and settings. */
const EXCLUDED =
  /^src\/(cli|testing|dev-servers)\/|^src\/runtime\/diagnosis\/status\.ts$|\/configuration\/|\/observability\/(?!finding\.ts)|[-/]environment\.ts$/;

/** Messages about settings continue the name of the setting, so they begin with a small letter. */
const isOfSettings = (text: string, path: string) =>
  /^(must|needs|is|the name) /.test(text) &&
  !/^src\/(extensions\/console\/data\/export|platform\/data\/redis\/(problems|check))\.ts$/.test(path);

/** Rows that wait for a process, which a sentence lists. */
const WAITING_ROWS = [
  ['event in the outbox', 'events in the outbox'],
  ['webhook delivery', 'webhook deliveries'],
  ['background job', 'background jobs'],
  ['e-mail', 'e-mails'],
  ['push message', 'push messages'],
].flatMap(([one, many]) => [`${HOLE} ${one}`, `${HOLE} ${many}`, `more ${many}`]);

/** The changes of records, which descriptions of events and the audit trail name. */
const CHANGES = ['created', 'updated', 'deleted', 'restored'];

/** Messages that the search does not find: parts that code changes after they are written, names of members, and texts in SQL. */
const OTHERS = [
  'Check REDIS_URL, and that Redis runs',
  'Failed password confirmations',
  'Wrong codes from e-mails',
  'commas',
  'semicolons',
  'tabs',
  'Member',
  'active',
  'revoked',
  'expired',
  'Invited',
  ...['may', 'may not'].map((verb) => `The owner ${verb} read the record (policies.read of ${HOLE}: ${HOLE})`),
  ...WAITING_ROWS,
  ...CHANGES.map(actionInWords),
  ...CHANGES.flatMap((change) => [`A ${HOLE} was ${change}`, `An ${HOLE} was ${change}`]),
  'has a stray quote. Quotes must enclose a whole cell, and a quote inside it is written twice',
];

/** Returns all messages that clients can get. @param root the folder of the repository */
export function collectMessages(root: string): SourceMessage[] {
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile);
  const isOfServer = (name: string) => SOURCES.some((folder) => name.startsWith(`${root}/${folder}/`));
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram(parsed.fileNames.filter(isOfServer), { ...parsed.options, noEmit: true });
  const files = program.getSourceFiles().filter(({ fileName }) => isOfServer(fileName));
  const resolver = new TextResolver(program, files);
  const checker = program.getTypeChecker();
  const found: SourceMessage[] = OTHERS.map((text) => ({ text, place: 'scripts/check/messages/collect.ts' }));
  const visit = (node: ts.Node, file: ts.SourceFile, path: string) => {
    const add = (expression: ts.Expression, texts: readonly string[]) => {
      const place = `${path}:${file.getLineAndCharacterOfPosition(expression.getStart()).line + 1}`;
      for (const text of texts) if (!isOfSettings(text, path)) found.push({ text, place });
    };
    for (const message of messagesIn(node, { checker, resolver, path })) add(message, resolver.resolve(message));
    for (const action of actionsIn(node, { checker, resolver, path }))
      found.push({ text: actionInWords(action), place: path });
    const details = detailsIn(node);
    if (details) add(details, resolver.valuesOf(details));
    node.forEachChild((child) => visit(child, file, path));
  };
  for (const file of files) {
    const path = file.fileName.slice(root.length + 1);
    if (!EXCLUDED.test(path)) visit(file, file, path);
  }
  return found;
}
