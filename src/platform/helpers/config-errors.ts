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

/** Returns the type of a value in words: `a string`, `null`. Messages name it instead of the value, which may be a secret. */
export function describeType(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Thrown if the environment or the declarations are invalid: `errors` lists every error found, one line each. */
export class StartupError extends Error {
  readonly errors: readonly string[];

  constructor(summary: string, errors: readonly string[]) {
    super(`${summary}\n${errors.map((error) => `  - ${error}`).join('\n')}`);
    this.name = 'StartupError';
    this.errors = errors;
  }
}
