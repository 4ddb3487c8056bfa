import type { OperationContext } from '../access/operation-context.ts';
import type { RecordsContext } from '../context.ts';
import type { RecordFiles } from '../files.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { Values } from './validate.ts';

/** Resolves the files in an input of a resource with file fields. */
export function resolveFiles(
  { files }: Pick<RecordsContext, 'files'>,
  resource: CompiledResource,
  input: unknown,
  operation: OperationContext,
  options: Parameters<RecordFiles['resolve']>[3],
): Promise<unknown> {
  return files!.resolve(resource, input, operation, options);
}

/** Whether a write needs a transaction, because it attaches files or a hook may do so. */
export function mayAttachFiles(
  { files }: Pick<RecordsContext, 'files'>,
  resource: CompiledResource,
  input: unknown,
  hook: unknown,
): boolean {
  return resource.holdsFiles && (hook !== undefined || files!.namesFiles(resource, input));
}

/**
 * Attaches the files of a written record of a resource with file fields. If that fails, the transaction is rolled back, even if the caller catches the error.
 *
 * @throws ApiError VALIDATION_ERROR
 */
export async function attachFiles(
  { files, transaction }: Pick<RecordsContext, 'files' | 'transaction'>,
  resource: CompiledResource,
  recordId: string,
  values: Values,
): Promise<void> {
  if (!files!.namesFiles(resource, values)) return;
  try {
    await files!.attach(resource, recordId, values, transaction!.database);
  } catch (error) {
    await transaction!.abort(error);
    throw error;
  }
}
