import { z } from 'zod';

/** A representation of a resource's records. `register`: the body of a registration. */
export type RecordView = 'read' | 'create' | 'update' | 'register';

/** The resource and representation that a `recordShape` stands for. */
export interface RecordShape {
  resource: string;
  view: RecordView;
}

/** The resource and representation of each shape. */
export const recordShapes = z.registry<RecordShape>();

/**
 * Stands for a record of a resource in the schema of a response or a body. It is descriptive only: records are validated and serialized by
 * the declaration itself.
 *
 * @example output: z.object({ user: recordShape('user'), token: z.string() })
 */
export function recordShape(resource: string, view: RecordView = 'read'): z.ZodType {
  return z.unknown().register(recordShapes, { resource, view });
}
