import type { EncryptedColumn } from '../../platform/crypto/encrypted-column.ts';
import type { CompiledResource } from '../schema/compiled.ts';

/** The columns of encrypted fields. */
export function encryptedColumns(resources: readonly CompiledResource[]): EncryptedColumn[] {
  return resources.flatMap(({ name: resource, table, fields, archived }) =>
    fields
      .filter(({ spec }) => spec.encrypted)
      .map(({ name, column }) => ({
        name: archived ? `${resource}.${name} (deleted)` : `${resource}.${name}`,
        table,
        column,
        context: (id) => valueContext(resource, name, id),
        resource,
      })),
  );
}

/** The context that an encrypted value is bound to, so that a ciphertext copied elsewhere does not decrypt there. */
export function valueContext(resource: string, field: string, id: string): string {
  return `${resource}/${field}/${id}`;
}
