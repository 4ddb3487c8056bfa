import { z } from 'zod';
import type { SignInStep } from '../declare/accounts.ts';
import { recordShape } from '../declare/record-shape.ts';

/** The shape of the answer to a login and a registration. */
export const newSessionShape = z
  .object({
    user: recordShape('user'),
    token: z.string().meta({ description: 'Sent as `Authorization: Bearer …`. It is shown this once.' }),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'NewSession' });

/** The shape of the answer to a login that goes through these steps. */
export function loginShape(steps: readonly SignInStep[]): z.ZodType {
  return steps.length === 0 ? newSessionShape : z.xor([newSessionShape, ...steps.map(({ output }) => output)]);
}
