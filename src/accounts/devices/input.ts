import { z } from 'zod';
import { isId } from '../../platform/helpers/ids.ts';
import { boundedTextSchema, notificationDataError } from './text.ts';
import { MAX_TOKEN_LENGTH, PLATFORMS, SIMULATED_PREFIX, type TokenRule, tokenError } from './token.ts';

// A client that reports a tap sends back the data of the notification. Push providers limit that data to 4 KB.
const OPENED_DATA_MAX_BYTES = 4096;

const tokenSchema = () =>
  boundedTextSchema(MAX_TOKEN_LENGTH)
    .transform((text) => text.trim())
    .refine((text) => text !== '', { error: 'Is required' });

/** The body of `POST /api/auth/devices`. */
export function deviceRegistrationSchema(rule: TokenRule) {
  return z
    .strictObject({
      token: tokenSchema().refine((text) => !text.startsWith(SIMULATED_PREFIX), {
        error: `Must not start with ${SIMULATED_PREFIX}, which is reserved for simulated devices`,
      }),
      platform: z.enum(PLATFORMS, {
        error: (issue) => (issue.input === undefined ? 'Is required' : `Must be one of: ${PLATFORMS.join(', ')}`),
      }),
      name: boundedTextSchema(100).nullish(),
      appVersion: boundedTextSchema(50).nullish(),
      locale: boundedTextSchema(35).nullish(),
    })
    .superRefine((body, context) => {
      const message = tokenError(body.platform, body.token, rule);
      if (message !== undefined) context.addIssue({ code: 'custom', message, path: ['token'] });
    });
}

/** The validated body of `POST /api/auth/devices`. */
export type DeviceRegistration = z.output<ReturnType<typeof deviceRegistrationSchema>>;

/** The body of `POST /api/auth/devices/unregister`. */
export const unregisterBodySchema = z.strictObject({ token: tokenSchema() });

/** The body of `POST /api/auth/devices/opened`. */
export const openedBodySchema = z.strictObject({
  pushId: z.string({ error: 'Must be an id' }).refine(isId, { error: 'Must be an id' }).optional(),
  data: z
    .record(z.string(), z.unknown(), { error: 'Must be an object' })
    .superRefine((data, context) => {
      const message = notificationDataError(data, OPENED_DATA_MAX_BYTES);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .optional(),
});
