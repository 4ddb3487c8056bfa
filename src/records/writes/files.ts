import type { IncomingMessage } from 'node:http';
import type { Route } from '../../declare/route.ts';
import type { Executor } from '../../platform/data/postgres/queryable.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { CompiledResource, Values } from '../schema/compiled.ts';
import { abortOnError, type TransactionContext } from './transaction.ts';

/** Connects files with the records whose fields refer to them. */
export interface RecordFiles {
  /**
   * Replaces the files that an input names by resolved files, which the field type accepts. The name of a file that the caller may not use
   * is left in place: validation reports it. One query, and none if the input names no file.
   *
   * @param recordId the record of an update; its own files may be named again
   * @param validated values that were resolved before
   */
  resolve(
    resource: CompiledResource,
    input: unknown,
    operation: Pick<OperationContext, 'user' | 'system'>,
    options: { recordId?: string | undefined; validated?: Values },
  ): Promise<unknown>;
  /** Whether values name files. The write then needs a transaction. */
  namesFiles(resource: CompiledResource, values: unknown): boolean;
  /**
   * Attaches the files of the written values to the record, in its transaction.
   *
   * @throws ApiError VALIDATION_ERROR if another record uses one of them, or if it has expired
   */
  attach(resource: CompiledResource, recordId: string, values: Values, transaction: Executor): Promise<void>;
  /** Creates the reader of forms that create or update a record, with its description for the OpenAPI document. */
  createForm(resource: CompiledResource, view: 'create' | 'update'): Pick<Route, 'form' | 'formShape'>;
  /** Discards the uploads of a form whose record was not written. */
  discardForm(req: IncomingMessage): Promise<void>;
}

/** What writes of files need. */
export interface FilesContext extends TransactionContext {
  /** Undefined if no resource has a file field. */
  files: RecordFiles | undefined;
}

/** Resolves the files in an input of a resource with file fields. */
export function resolveFiles(
  { files }: Pick<FilesContext, 'files'>,
  resource: CompiledResource,
  input: unknown,
  operation: OperationContext,
  options: Parameters<RecordFiles['resolve']>[3],
): Promise<unknown> {
  return files!.resolve(resource, input, operation, options);
}

/** Whether a write needs a transaction, because it attaches files or a hook may do so. */
export function mayAttachFiles(
  { files }: Pick<FilesContext, 'files'>,
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
  { files, transaction }: FilesContext,
  resource: CompiledResource,
  recordId: string,
  values: Values,
): Promise<void> {
  if (!files!.namesFiles(resource, values)) return;
  await abortOnError(transaction!, () => files!.attach(resource, recordId, values, transaction!.database));
}
