import { z } from 'zod';

/** A view of a resource's records. `register`: the body of a registration. */
export type RecordView = 'read' | 'create' | 'update' | 'register';

/** What a shape made by `recordShape` stands for. */
export interface RecordShape {
  resource: string;
  view: RecordView;
}

/** The shapes that stand for records, and what for. */
export const recordShapes = z.registry<RecordShape>();

/**
 * Stands for a record of a resource in the shape of an answer or a body. It describes only: records are validated and shown
 * by the declaration itself.
 *
 * @example output: z.object({ user: recordShape('user'), token: z.string() })
 */
export function recordShape(resource: string, view: RecordView = 'read'): z.ZodType {
  return z.unknown().register(recordShapes, { resource, view });
}
