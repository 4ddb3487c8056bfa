import { createHash } from 'node:crypto';
import type { Statement } from '../../platform/postgres/pipeline.ts';

const MAX_NAMES = 500;

/**
 * Names statements, so that Postgres prepares each once per connection. Equal texts get equal names. Beyond a bound statements stay unnamed: clients choose which filters are combined, and every
 * name costs memory in each connection.
 */
export function createStatementNames(): (text: string, values: unknown[]) => Statement {
  const names = new Map<string, string>();
  return (text, values) => {
    let name = names.get(text);
    if (name === undefined && names.size < MAX_NAMES) {
      name = `s_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
      names.set(text, name);
    }
    return name === undefined ? { text, values } : { name, text, values };
  };
}
