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

/** The shape of the response to a login, which a further step may hold up. */
export function loginShape(step: SignInStep | undefined): z.ZodType {
  return step === undefined ? newSessionShape : z.xor([newSessionShape, step.output]);
}
