/** The operations of a document, in groups. Nothing here depends on a browser. */
import {
  METHODS,
  type OpenApiDocument,
  type OperationObject,
  type Parameter,
  type RequestBody,
  type ResponseObject,
  resolve,
} from './document.ts';

/** An operation whose references are followed. */
export interface Operation {
  id: string;
  /** In capitals. */
  method: string;
  path: string;
  tag: string;
  summary: string;
  /** Without the paragraph about access. */
  description: string;
  policy: string;
  isDeprecated: boolean;
  parameters: Parameter[];
  body: RequestBody | undefined;
  responses: Record<string, ResponseObject>;
  raw: OperationObject;
  searchText: string;
}

/** The operations with the same tag. */
export interface OperationGroup {
  tag: string;
  operations: Operation[];
}

/** The paragraph of descriptions that repeats the policy and the scope, which the page shows in another form. */
const ACCESS_PARAGRAPH = /^Access: `/;

function readOperation(method: string, path: string, raw: OperationObject, document: OpenApiDocument): Operation {
  const { operationId: id, tags: [tag = 'other'] = [], summary = id, description = '', responses = {} } = raw;
  return {
    id,
    method: method.toUpperCase(),
    path,
    tag,
    summary,
    description: description
      .split('\n\n')
      .filter((text) => !ACCESS_PARAGRAPH.test(text))
      .join('\n\n'),
    policy: raw['x-policy'] ?? '',
    isDeprecated: raw.deprecated === true,
    parameters: (raw.parameters ?? []).map((one) => resolve(one, document)),
    body: raw.requestBody && resolve(raw.requestBody, document),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [status, resolve(response, document)]),
    ),
    raw,
    searchText: `${method} ${path} ${summary} ${id} ${tag}`.toLowerCase(),
  };
}

/** Returns all operations, in the order of the document. */
export function listOperations(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const raw = item[method];
      return raw === undefined ? [] : [readOperation(method, path, raw, document)];
    }),
  );
}

/** Whether an operation accepts only requests with a token. A route whose policy is a function counts, too. */
export const needsSignIn = ({ raw }: Operation): boolean => (raw.security ?? []).length > 0;

/** Whether an operation has every word of a text. */
export const matchesSearch = (operation: Operation, text: string): boolean =>
  text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => operation.searchText.includes(word));

/**
 * Groups operations by tag: those of resources first, in the order of the app.
 *
 * @param resources their names
 */
export function groupOperations(operations: readonly Operation[], resources: readonly string[]): OperationGroup[] {
  const rank = (tag: string) => {
    const index = resources.indexOf(tag);
    return index < 0 ? resources.length : index;
  };
  return [...Map.groupBy(operations, ({ tag }) => tag)]
    .toSorted(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b))
    .map(([tag, list]) => ({ tag, operations: list }));
}
