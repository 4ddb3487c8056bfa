import { verifyWebhook, type WebhookVerificationError } from '../../src/extensions/webhooks/verify-webhook.ts';

/** Returns whether a text has the form of an endpoint's secret. Verifying a request without headers fails for the headers if it has. */
function isSecret(secret: string): boolean {
  try {
    verifyWebhook(secret, {}, '');
  } catch (error) {
    return secret.startsWith('whsec_') && (error as WebhookVerificationError).code !== 'INVALID_SECRET';
  }
  return true;
}

/**
 * Reads the command line of `npm run receiver`.
 *
 * @param wanted RECEIVER_PORT
 * @throws Error with a message for the terminal
 */
export function readReceiverArguments(
  given: readonly string[],
  wanted: string | undefined,
): { secret: string; port: number } {
  const [secret, ...more] = given;
  if (!secret) throw new Error('The secret of the endpoint is missing. Usage: npm run receiver -- whsec_…');
  if (more.length > 0) {
    throw new Error(`Unknown argument ${more.join(' ')}. Usage: npm run receiver -- whsec_…`);
  }
  if (!isSecret(secret)) throw new Error('Invalid secret: it must be whsec_ followed by base64.');
  const port = Number(wanted || '4000');
  if ((wanted && !/^\d{1,5}$/.test(wanted)) || port > 65_535) {
    throw new Error(`RECEIVER_PORT must be a number from 0 to 65535, not ${wanted}.`);
  }
  return { secret, port };
}
