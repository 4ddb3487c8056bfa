import type { RecordsContext } from '../context.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { Values } from './validate.ts';

/** Replaces the values of password fields by their hashes. */
export async function hashPasswords(
  context: RecordsContext,
  resource: CompiledResource,
  values: Values,
): Promise<Values> {
  const hashed = { ...values };
  for (const { name, type } of resource.fields) {
    if (type.concealed && typeof hashed[name] === 'string') {
      hashed[name] = await context.hashPassword(hashed[name]);
    }
  }
  return hashed;
}
