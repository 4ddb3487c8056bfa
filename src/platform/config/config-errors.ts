import { z } from 'zod';
import { suggestClosestName } from './did-you-mean.ts';

/** Collects configuration errors, so that an app that cannot start reports all of them at once. */
export class ConfigErrors {
  /** One line per error, beginning with the place of the error: `resource "post": field "title": …`. */
  readonly lines: string[];
  readonly #place: string;

  constructor(place = '', lines: string[] = []) {
    this.#place = place;
    this.lines = lines;
  }

  /** Adds an error: what is wrong at this place, and how to fix it. */
  report(text: string): void {
    this.lines.push(this.#place === '' ? text : `${this.#place}: ${text}`);
  }

  /** Returns a reporter for a nested place that adds to the same lines: `errors.at('resource "post"').at('field "title"')`. */
  at(place: string): ConfigErrors {
    return new ConfigErrors(this.#place === '' ? place : `${this.#place}: ${place}`, this.lines);
  }
}

/** Returns the keys of the object schema at a path of a schema; empty if the schema has no object there. */
function findSchemaKeys(schema: unknown, path: readonly PropertyKey[]): string[] {
  let inner = schema;
  // Defaults and optional() wrap the object schema.
  while (!(inner instanceof z.ZodObject)) {
    const wrapped = (inner as { def?: { innerType?: unknown } } | undefined)?.def?.innerType;
    if (wrapped === undefined) return [];
    inner = wrapped;
  }
  const [key, ...rest] = path;
  return key === undefined ? Object.keys(inner.shape) : findSchemaKeys(inner.shape[key as string], rest);
}

/**
 * Reports each setting that the schema rejected by its full name, such as `webhooks.timeoutMs`.
 *
 * @param name the prefix of the names, such as `webhooks`
 */
export function reportSettingErrors(name: string, schema: z.ZodType, error: z.ZodError, errors: ConfigErrors): void {
  for (const issue of error.issues) {
    const place = [name, ...issue.path].join('.');
    if (issue.code !== 'unrecognized_keys') errors.at(place).report(issue.message);
    else
      for (const key of issue.keys)
        errors
          .at(`${place}.${key}`)
          .report(`there is no such setting${suggestClosestName(key, findSchemaKeys(schema, issue.path))}`);
  }
}
