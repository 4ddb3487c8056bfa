import { z } from 'zod';
import type { FieldSpec } from '../../declare/field.ts';

/** Whether a required field is as good as not there: null, or an empty text. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** What is said where a required value is missing. */
export function missingMessage(spec: FieldSpec): string {
  return spec.requiredMessage ?? 'Is required';
}

/** A schema before which a required value must be there. */
export function presentSchema(spec: FieldSpec, schema: z.ZodType): z.ZodType {
  if (!spec.required) return schema;
  return z
    .unknown()
    .superRefine((value, issues) => {
      if (isBlank(value)) issues.addIssue({ code: 'custom', message: missingMessage(spec) });
    })
    .pipe(schema);
}
