/**
 * Reads an OpenAPI document: references, operations and groups. Nothing here depends on a browser.
 *
 * @typedef {{ id: string, method: string, path: string, tag: string, summary: string, description: string, policy: string, isDeprecated: boolean,
 *   parameters: object[], body: object | undefined, responses: Record<string, object>, raw: object, searchText: string }} Operation
 */

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
/** The paragraph of descriptions that repeats the policy and the scope, which the page shows in another form. */
const ACCESS_PARAGRAPH = /^Access: `/;

/** Follows `$ref`. Members beside it, such as a description, take precedence. */
export function resolve(part, document) {
  let current = part;
  // A chain of references in a correct document is short; the limit ends a circular one.
  for (let step = 0; step < 8 && typeof current?.$ref === 'string'; step++) {
    const { $ref, ...own } = current;
    const target = $ref
      .replace(/^#\//, '')
      .split('/')
      .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce((inner, segment) => (inner && Object.hasOwn(inner, segment) ? inner[segment] : undefined), document);
    current = target === undefined ? own : { ...target, ...own };
  }
  return current ?? {};
}

/** The name of the schema that a reference leads to. */
export const refName = (schema) =>
  typeof schema?.$ref === 'string' ? schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1) : undefined;

/** Merges `allOf` into one schema, and follows references. */
export function flatten(schema, document) {
  const { allOf, ...own } = resolve(schema, document);
  if (!Array.isArray(allOf)) return own;
  const parts = [...allOf.map((part) => flatten(part, document)), own];
  const properties = Object.assign({}, ...parts.map((part) => part.properties ?? {}));
  const required = parts.flatMap((part) => part.required ?? []);
  return Object.assign(
    {},
    ...parts,
    Object.keys(properties).length > 0 && { properties },
    required.length > 0 && { required },
  );
}

const isNull = (schema) => schema.type === 'null' || schema.const === null;

/**
 * Separates `null` from the other alternatives of a schema, and unwraps an alternative that remains alone.
 *
 * @returns {{ schema: object, isNullable: boolean, alternatives: object[] }} `alternatives`: more than one, or none
 */
export function simplify(given, document) {
  const flat = flatten(given, document);
  const { anyOf, oneOf, ...own } = flat;
  const options = anyOf ?? oneOf;
  if (Array.isArray(flat.type)) {
    const types = flat.type.filter((type) => type !== 'null');
    return {
      schema: { ...flat, type: types.length === 1 ? types[0] : types },
      isNullable: types.length < flat.type.length,
      alternatives: [],
    };
  }
  if (!Array.isArray(options)) return { schema: flat, isNullable: isNull(flat), alternatives: [] };
  const rest = options.filter((option) => !isNull(resolve(option, document)));
  const isNullable = rest.length < options.length;
  if (rest.length !== 1) return { schema: own, isNullable, alternatives: rest };
  const inner = simplify(rest[0], document);
  return {
    schema: { ...inner.schema, ...own },
    isNullable: isNullable || inner.isNullable,
    alternatives: inner.alternatives,
  };
}

/** The media types of a body or response, the usual one first. */
export const mediaTypes = (part) => Object.keys(part?.content ?? {});

/** Returns all operations, in the order of the document. @returns {Operation[]} */
export function listOperations(document) {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => {
      const raw = item[method];
      const description = (raw.description ?? '')
        .split('\n\n')
        .filter((text) => !ACCESS_PARAGRAPH.test(text))
        .join('\n\n');
      const [tag = 'other'] = raw.tags ?? [];
      const summary = raw.summary ?? raw.operationId;
      return {
        id: raw.operationId,
        method: method.toUpperCase(),
        path,
        tag,
        summary,
        description,
        policy: raw['x-policy'] ?? '',
        isDeprecated: raw.deprecated === true,
        parameters: (raw.parameters ?? []).map((one) => resolve(one, document)),
        body: raw.requestBody && resolve(raw.requestBody, document),
        responses: Object.fromEntries(
          Object.entries(raw.responses ?? {}).map(([status, one]) => [status, resolve(one, document)]),
        ),
        raw,
        searchText: `${method} ${path} ${summary} ${raw.operationId} ${tag}`.toLowerCase(),
      };
    }),
  );
}

/** Whether an operation has every word of a text. */
export const matchesSearch = (operation, text) =>
  text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => operation.searchText.includes(word));

/**
 * Groups operations by tag: those of resources first, in the order of the app.
 *
 * @param {Operation[]} operations
 * @param {string[]} resources their names
 * @returns {{ tag: string, operations: Operation[] }[]}
 */
export function groupOperations(operations, resources) {
  const groups = [...Map.groupBy(operations, ({ tag }) => tag)];
  const rank = (tag) => {
    const index = resources.indexOf(tag);
    return index < 0 ? resources.length : index;
  };
  return groups
    .toSorted(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b))
    .map(([tag, list]) => ({ tag, operations: list }));
}
