import type { EncryptedColumn } from '../../platform/crypto/encrypted-column.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { valueContext } from './encryption-context.ts';

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
