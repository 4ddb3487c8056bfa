import { isStorable } from '../../platform/data/postgres/values.ts';
import { InputError } from '../schema/rule-errors.ts';

const MAX_MESSAGE_LENGTH = 100;

/** The error for an invalid query. */
export function queryError(message: string): InputError {
  return new InputError('BAD_REQUEST', message);
}

/** A name that a client sent, shortened if it is too long to repeat in a message. */
export function shortenForMessage(name: string): string {
  return name.length > MAX_MESSAGE_LENGTH ? `${name.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()}…` : name;
}

/** A list of names for a message. */
export function joinNames(list: Iterable<string>): string {
  return [...list].join(', ') || 'none';
}

/** The text of a parameter that may be given only once. */
export function requireSingleText(name: string, value: unknown): string {
  if (typeof value !== 'string')
    throw queryError(`The query parameter "${shortenForMessage(name)}" must be given once`);
  if (!isStorable(value))
    throw queryError(`The query parameter "${shortenForMessage(name)}" contains characters that are not allowed`);
  return value;
}

/** Each filter may be given once, however it is written: `views` and `views[eq]` are the same filter. */
export function assertGivenOnce(parameters: readonly string[]): void {
  const seen = new Set<string>();
  for (const parameter of parameters) {
    const plain = parameter.endsWith('[eq]') ? parameter.slice(0, -'[eq]'.length) : parameter;
    if (seen.has(plain)) throw queryError(`The query parameter "${shortenForMessage(plain)}" must be given once`);
    seen.add(plain);
  }
}

/** A whole number from 1 to `most`. */
export function parsePositiveInteger(name: string, text: string, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) {
    throw queryError(`The query parameter "${name}" must be a whole number from 1 to ${most}`);
  }
  return value;
}
