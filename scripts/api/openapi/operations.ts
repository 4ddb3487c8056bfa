import { isDeepStrictEqual } from 'node:util';
import { type Change, createReporter, type Reporter } from '../change.ts';
import { compareAccess } from './access.ts';
import { asList, asObject, compareNames, type Json, resolve } from './json.ts';
import type { Direction, SchemaComparer } from './schemas/compare.ts';

/** What the comparison of all operations shares. */
export interface OperationContext {
  before: Json;
  after: Json;
  compareSchemas: SchemaComparer;
  changes: Change[];
}

/** Where an operation is, and what its clients send and receive. For webhooks, the server sends the request. */
export interface OperationPlace {
  place: string;
  names: readonly string[];
  sent: Direction;
}

const opposite = (direction: Direction): Direction => (direction === 'requests' ? 'responses' : 'requests');
const COMPARED = ['operationId', 'parameters', 'requestBody', 'responses', 'security', 'x-policy', 'x-required-scope'];
const DOCUMENTATION = ['summary', 'description', 'tags', 'externalDocs', 'deprecated'];

/** Returns the resolved parts of a list or an object by name. */
function resolveAll(parts: unknown, document: Json): Json {
  return Object.fromEntries(
    Object.entries(asObject(parts)).map(([name, part]) => [name, resolve(part, document).value]),
  );
}

/** The parameters of an operation by place and name; names of headers are compared in lower case. */
function parametersOf(operation: Json, document: Json): Record<string, Json> {
  const parameters = asList(operation.parameters).map((each) => asObject(resolve(each, document).value));
  return Object.fromEntries(
    parameters.map((parameter) => {
      const name = String(parameter.name);
      return [`${parameter.in} parameter ${parameter.in === 'header' ? name.toLowerCase() : name}`, parameter];
    }),
  );
}

/** Compares two versions of an operation, without its path and method. */
export function compareOperations(before: Json, after: Json, at: OperationPlace, context: OperationContext): void {
  const report = createReporter(context.changes, at.place, at.names);
  if (before.operationId !== after.operationId)
    report.breaking(
      `operationId changed from ${before.operationId} to ${after.operationId}: generated clients name their methods by it`,
      String(before.operationId),
    );
  compareAccess(before, after, context, report);
  compareParameters(before, after, at, context, report);
  compareBodies(before, after, at, context, report);
  compareResponses(before, after, at, context, report);
  if (before.deprecated !== true && after.deprecated === true) report.compatible('deprecated');
  for (const name of Object.keys({ ...before, ...after })) {
    if (COMPARED.includes(name) || DOCUMENTATION.includes(name)) continue;
    if (isDeepStrictEqual(before[name], after[name])) continue;
    // Facts that the former document did not state yet.
    if (before[name] === undefined && name.startsWith('x-')) report.compatible(`new ${name}`);
    else report.breaking(`${name} changed`);
  }
}

function compareParameters(
  before: Json,
  after: Json,
  at: OperationPlace,
  context: OperationContext,
  report: Reporter,
): void {
  const [old, current] = [parametersOf(before, context.before), parametersOf(after, context.after)];
  const { removed, added, kept } = compareNames(old, current);
  const isRequest = at.sent === 'requests';
  // `status[gte]` filters by the field `status`.
  const fieldOf = (parameter: Json) => String(parameter.name).replace(/\[.*$/, '');
  for (const name of removed) report.breaking(`${name} removed`, fieldOf(old[name]!));
  for (const name of added) {
    const isDemanded = isRequest && current[name]!.required === true;
    if (isDemanded) report.breaking(`new required ${name}`, fieldOf(current[name]!));
    else report.compatible(`new ${name}`);
  }
  for (const name of kept) {
    const [oldPart, newPart] = [old[name]!, current[name]!];
    compareRequired(oldPart, newPart, name, isRequest, report);
    for (const keyword of ['style', 'explode', 'allowReserved', 'allowEmptyValue', 'content'])
      if (!isDeepStrictEqual(oldPart[keyword], newPart[keyword])) report.breaking(`${name}: ${keyword} changed`);
    context.compareSchemas(oldPart.schema, newPart.schema, {
      ...at,
      names: [...at.names, fieldOf(oldPart)],
      direction: at.sent,
      path: name,
    });
  }
}

/** Compares whether a part must be there. A request must not need more, a response must not lack what it always had. */
function compareRequired(before: Json, after: Json, name: string, isRequest: boolean, report: Reporter): void {
  const [was, is] = [before.required === true, after.required === true];
  if (was === is) return;
  const text = `${name}: ${is ? 'required' : 'no longer required'}`;
  if (is === isRequest) report.breaking(text);
  else report.compatible(text);
}

function compareBodies(
  before: Json,
  after: Json,
  at: OperationPlace,
  context: OperationContext,
  report: Reporter,
): void {
  const old = resolve(before.requestBody, context.before).value as Json | undefined;
  const current = resolve(after.requestBody, context.after).value as Json | undefined;
  if (old === undefined && current === undefined) return;
  if (old === undefined) {
    if (current!.required === true && at.sent === 'requests') report.breaking('new required body');
    else report.compatible('new body');
    return;
  }
  if (current === undefined) {
    report.breaking('body removed');
    return;
  }
  compareRequired(old, current, 'body', at.sent === 'requests', report);
  compareContent(old, current, 'body', at, at.sent, context, report);
}

/** Compares the media types of a body, and their schemas. */
function compareContent(
  before: Json,
  after: Json,
  label: string,
  at: OperationPlace,
  direction: Direction,
  context: OperationContext,
  report: Reporter,
): void {
  const [old, current] = [asObject(before.content), asObject(after.content)];
  const { removed, added, kept } = compareNames(old, current);
  for (const type of removed) report.breaking(`${label}: ${type} removed`);
  for (const type of added) report.compatible(`${label}: new ${type}`);
  for (const type of kept) {
    const path = type === 'application/json' ? label : `${label} (${type})`;
    context.compareSchemas(asObject(old[type]).schema, asObject(current[type]).schema, { ...at, direction, path });
  }
}

function compareResponses(
  before: Json,
  after: Json,
  at: OperationPlace,
  context: OperationContext,
  report: Reporter,
): void {
  const old = resolveAll(before.responses, context.before);
  const current = resolveAll(after.responses, context.after);
  const { removed, added, kept } = compareNames(old, current);
  for (const status of removed) report.breaking(`status ${status} removed`);
  for (const status of added) {
    // A client that knows only 200 does not handle 202. Errors are handled by their range.
    if (status.startsWith('2')) report.breaking(`new status ${status}`);
    else report.compatible(`new status ${status}`);
  }
  for (const status of kept) {
    const [oldResponse, newResponse] = [asObject(old[status]), asObject(current[status])];
    const direction = opposite(at.sent);
    compareHeaders(oldResponse, newResponse, status, at, context, report);
    compareContent(oldResponse, newResponse, status, at, direction, context, report);
  }
}

function compareHeaders(
  before: Json,
  after: Json,
  status: string,
  at: OperationPlace,
  context: OperationContext,
  report: Reporter,
): void {
  const old = resolveAll(before.headers, context.before);
  const current = resolveAll(after.headers, context.after);
  const { removed, added, kept } = compareNames(old, current);
  for (const name of removed) report.breaking(`${status}: header ${name} removed`, name);
  for (const name of added) report.compatible(`${status}: new header ${name}`);
  for (const name of kept) {
    const [oldHeader, newHeader] = [asObject(old[name]), asObject(current[name])];
    compareRequired(oldHeader, newHeader, `${status}: header ${name}`, at.sent === 'responses', report);
    const path = `${status}: header ${name}`;
    context.compareSchemas(oldHeader.schema, newHeader.schema, { ...at, direction: opposite(at.sent), path });
  }
}
