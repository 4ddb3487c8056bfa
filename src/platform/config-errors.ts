import { z } from 'zod';
import { didYouMean } from './did-you-mean.ts';

/** Collects configuration errors, so that an app that cannot start reports all of them at once. */
export class ConfigErrors {
  /** Each error on a line, its place first: `resource "post": field "title": …`. */
  readonly lines: string[];
  readonly #place: string;

  constructor(place = '', lines: string[] = []) {
    this.#place = place;
    this.lines = lines;
  }

  /** Reports what is wrong at this place, and how to fix it. */
  report(text: string): void {
    this.lines.push(this.#place === '' ? text : `${this.#place}: ${text}`);
  }

  /** The same collection, for errors at a place inside this one: `errors.at('resource "post"').at('field "title"')`. */
  at(place: string): ConfigErrors {
    return new ConfigErrors(this.#place === '' ? place : `${this.#place}: ${place}`, this.lines);
  }
}

/** The keys of the object at a path of a schema, as far as the schema tells them. */
function keysAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  let inner = schema;
  // Defaults and optional() wrap an object.
  while (!(inner instanceof z.ZodObject)) {
    const wrapped = (inner as { def?: { innerType?: unknown } } | undefined)?.def?.innerType;
    if (wrapped === undefined) return [];
    inner = wrapped;
  }
  const [key, ...rest] = path;
  return key === undefined ? Object.keys(inner.shape) : keysAt(inner.shape[key as string], rest);
}

/**
 * Reports the settings that a schema refused, each by its full name: `webhooks.timeoutMs`.
 *
 * @param name what the settings belong to
 */
export function reportSettings(name: string, schema: z.ZodType, error: z.ZodError, errors: ConfigErrors): void {
  for (const issue of error.issues) {
    const place = [name, ...issue.path].join('.');
    if (issue.code !== 'unrecognized_keys') errors.at(place).report(issue.message);
    else
      for (const key of issue.keys)
        errors.at(`${place}.${key}`).report(`there is no such setting${didYouMean(key, keysAt(schema, issue.path))}`);
  }
}
