// Collects the names of actions that the audit trail records, which the console shows in words.
import ts from 'typescript5';
import { HOLE } from './resolve.ts';
import { isOfType, type Place } from './sinks.ts';

/** Actions of the console are declared without their first part. */
const DECLARED: readonly [type: string, member: string][] = [
  ['ConsoleRoute', 'action'],
  ['PanelAction', 'id'],
  ['SectionForm', 'id'],
];

/** Returns the names of the actions in a node, apart from its children: `console.endpointDisabled`. */
export function actionsIn(node: ts.Node, { checker, resolver, path }: Place): string[] {
  if (ts.isPropertyAssignment(node) && path === 'src/extensions/audit/recording/audited-events.ts')
    return ts.isStringLiteral(node.name) ? [node.name.text] : [];
  if (ts.isStringLiteral(node)) return /^console\.[a-z]\w*$/.test(node.text) ? [node.text] : [];
  if (!ts.isPropertyAssignment(node) && !ts.isShorthandPropertyAssignment(node)) return [];
  const type = checker.getContextualType(node.parent);
  if (!DECLARED.some(([name, member]) => node.name.getText() === member && isOfType(type, name))) return [];
  const names = resolver.resolve(ts.isPropertyAssignment(node) ? node.initializer : node.name);
  return names.filter((name) => !name.includes(HOLE)).map((name) => `console.${name}`);
}
