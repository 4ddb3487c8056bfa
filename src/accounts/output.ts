import { z } from 'zod';
import { recordShape } from '../declare/record-shape.ts';

/** The shape of the answer to a login and a registration. */
export const newSessionShape = z
  .object({
    user: recordShape('user'),
    token: z.string().meta({ description: 'Sent as `Authorization: Bearer …`. It is shown this once.' }),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'NewSession' });
