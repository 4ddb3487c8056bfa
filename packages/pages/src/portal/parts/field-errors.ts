import { useState } from 'preact/hooks';
import type { RequestError } from '../../kit/request.ts';
import { describeError } from '../../kit/toasts.tsx';
import { texts } from '../texts.ts';

const isWithin = (key: string, name: string) => key === name || key.startsWith(`${name}.`);

/**
 * The errors of the fields of a form: those of the last request, without the fields that have changed since.
 *
 * @param fields the fields whose errors are shown next to them; `message` has those of the others
 */
export function useFieldErrors(error: RequestError | undefined, fields: readonly string[]) {
  const [changed, setChanged] = useState<{ since?: RequestError | undefined; names: string[] }>({ names: [] });
  const names = changed.since === error ? changed.names : [];
  const all = Object.entries(error?.details ?? {});
  const left = all.filter(([key]) => !names.some((name) => isWithin(key, name)));
  const others = left.filter(([key]) => !fields.some((name) => isWithin(key, name)));

  function findMessage(): string | undefined {
    if (error === undefined || all.length === 0) return error?.message;
    if (left.length === 0) return undefined;
    if (others.length === 0) return texts.errors.fields;
    return describeError({ message: error.message, details: Object.fromEntries(others) });
  }

  return {
    errors: Object.fromEntries(left),
    errorOf: (field: string) => left.find(([key]) => isWithin(key, field))?.[1],
    message: findMessage(),
    markChanged: (name: string) => setChanged({ since: error, names: [...names, name] }),
  };
}
