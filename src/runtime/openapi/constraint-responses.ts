import { ERROR_CODES, type ErrorCode } from '../../platform/helpers/errors.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { describeConstraint } from '../../records/schema/constraints.ts';
import type { Json } from './schema.ts';

/** The constraints of a resource that clients may know about: those over fields that every viewer sees. */
function visibleConstraints({ constraints, field }: CompiledResource) {
  return constraints.filter(({ used }) =>
    used.every((name) => !field.get(name)?.secret && field.get(name)?.visibleTo === undefined),
  );
}

function describeConstraints(resource: CompiledResource, code: ErrorCode): string[] {
  return visibleConstraints(resource)
    .filter(({ kind }) => (kind === 'check' ? 'VALIDATION_ERROR' : 'CONFLICT') === code)
    .map((constraint) => `- ${describeConstraint(constraint)}`);
}

/** Adds the constraints of a resource to the descriptions of the error responses of a route that writes its records. */
export function describeConstraintResponses(resource: CompiledResource | undefined, responses: Json): Json {
  if (resource === undefined || resource.constraints.length === 0) return responses;
  const described = { ...responses };
  for (const code of ['CONFLICT', 'VALIDATION_ERROR'] as const) {
    const { status, message } = ERROR_CODES[code];
    const lines = describeConstraints(resource, code);
    const response = responses[status] as Json | undefined;
    if (lines.length === 0 || response === undefined) continue;
    described[status] = {
      ...response,
      description: [`\`${code}\`: ${message}. Constraints:`, '', ...lines].join('\n'),
    };
  }
  return described;
}
