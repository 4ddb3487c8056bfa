import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';
import type { ApiResponse } from '../../support/app.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into the document freely
export type Json = Record<string, any>;

/** An operation of the document, with its method and path. */
export interface Operation {
  id: string;
  method: string;
  /** `/api/posts/{id}`. */
  path: string;
  spec: Json;
}

/** The document of an app, in a form that can be compared with the app's behaviour. */
export interface Contract {
  document: Json;
  operations: ReadonlyMap<string, Operation>;
  /** A part of the document, with references resolved. */
  resolve(part: Json): Json;
  /** The documented response of an operation for a status; undefined for an undocumented status. */
  response(operation: Operation, status: number): Json | undefined;
  /**
   * Fails if the document does not list the response's status, or if the body differs from the documented one or has additional members.
   *
   * @param path of the request: with the parameter `fields` the response holds a subset of the record
   */
  check(operationId: string, response: ApiResponse, path?: string): void;
  /** Whether a value is valid according to a schema of the document. */
  isValid(schema: Json, value: unknown): boolean;
}

/** The document with every object closed, so that undocumented members of a response are detected. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const inner = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, closed(value)])) as Json;
  const isOpen = typeof inner.properties === 'object' && inner.type === 'object' && !('additionalProperties' in inner);
  return isOpen ? { ...inner, additionalProperties: false } : inner;
}

/** Reads the document of a running app. */
export async function readContract(url: string): Promise<Contract> {
  const response = await fetch(`${url}/api/openapi.json`);
  expect(response.status).toBe(200);
  const document = (await response.json()) as Json;
  const ajv = new Ajv2020({ strict: false, validateFormats: true, allErrors: true, allowUnionTypes: true });
  (formats as unknown as { default: (one: Ajv2020) => void }).default(ajv);
  ajv.addSchema(closed(document) as Json, 'document', undefined, false);
  const compiled = new Map<string, ValidateFunction>();

  const validator = (key: string, schema: Json) => {
    let validate = compiled.get(key);
    if (validate === undefined) {
      // References in a part point into the document that the part was taken from.
      const text = JSON.stringify(closed(schema)).replaceAll('"$ref":"#/', '"$ref":"document#/');
      validate = ajv.compile(JSON.parse(text));
      compiled.set(key, validate);
    }
    return validate;
  };
  const resolve = (part: Json): Json => {
    if (typeof part.$ref !== 'string') return part;
    const keys = part.$ref.slice(2).split('/');
    return keys.reduce(
      (inside: Json, key: string) => inside[key.replaceAll('~1', '/').replaceAll('~0', '~')],
      document,
    );
  };
  const operations = new Map<string, Operation>();
  for (const [path, item] of Object.entries(document.paths as Json)) {
    for (const [method, spec] of Object.entries(item as Json)) {
      operations.set(spec.operationId, { id: spec.operationId, method: method.toUpperCase(), path, spec });
    }
  }
  const documented = (operation: Operation, status: number) => {
    const { responses } = operation.spec;
    const found = responses[status] ?? responses[`${Math.floor(status / 100)}XX`];
    return found === undefined ? undefined : resolve(found);
  };

  return {
    document,
    operations,
    resolve,
    response: documented,
    check(operationId, { status, body, headers }, path = '') {
      const operation = operations.get(operationId)!;
      const at = `${operationId} ${status} ${JSON.stringify(body)?.slice(0, 600)}`;
      const response = documented(operation, status);
      expect(response, `not documented: ${at}`).toBeDefined();
      const schema = response!.content?.['application/json']?.schema;
      if (schema === undefined) expect(body, at).toBeUndefined();
      else {
        const key = `${operationId} ${operation.spec.responses[status] === undefined ? 'range' : status}`;
        const validate = validator(key, schema);
        validate(body);
        const subset = /[?&]fields=/.test(path);
        const faults = (validate.errors ?? []).filter(
          ({ keyword, instancePath }) => !(subset && keyword === 'required' && /^\/data(\/\d+)?$/.test(instancePath)),
        );
        expect(faults, at).toEqual([]);
      }
      expect(headers.get('x-request-id'), at).toBeTruthy();
      if (headers.has('etag')) expect(Object.keys(response!.headers), at).toContain('ETag');
      if (headers.has('retry-after')) expect(Object.keys(response!.headers), at).toContain('Retry-After');
    },
    isValid: (schema, value) => validator(JSON.stringify(schema), schema)(value) as boolean,
  };
}
