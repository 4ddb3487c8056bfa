import { z } from 'zod';
import type { Fields } from '../../../declare/field.ts';
import type { RouteContext } from '../../../declare/route.ts';
import { validationError } from '../../../platform/errors.ts';
import type { DataContext } from './context.ts';
import { readStoredRecord } from './read.ts';

/** The body of the route that reveals a value. */
export const revealBody = z.strictObject({ field: z.string({ error: 'Must be the name of a field' }) });

/**
 * Handles `POST /records/:resource/:id/reveal`: returns the value of an encrypted field. The audit trail records that before the value
 * leaves the server.
 */
export async function revealValue(data: DataContext, { params, input, req }: RouteContext): Promise<unknown> {
  const { host } = data;
  const gateway = data.gateway(params.resource);
  const { field } = input as z.output<typeof revealBody>;
  const fields = gateway.declaration.fields as Fields;
  const spec = Object.hasOwn(fields, field) ? fields[field]!.spec : undefined;
  if (!spec?.encrypted || spec.writeOnly)
    throw validationError({ field: 'Must be an encrypted field that can be read' });
  const record = await readStoredRecord(data, gateway, params.id!);
  const action = { action: 'console.revealed', resource: gateway.name, record: record.id, details: { field } };
  await host.auditTrail()?.add(action, req, host.database);
  return { value: record[field] ?? null };
}
