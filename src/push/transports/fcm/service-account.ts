import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { readCredential } from '../read-credential.ts';

const serviceAccountSchema = z.object({
  type: z.literal('service_account'),
  project_id: z.string().min(1),
  client_email: z.string().min(1),
  private_key: z.string().min(1),
});

/** The service account of a Firebase project. */
export interface ServiceAccount {
  projectId: string;
  clientEmail: string;
  /** PEM. */
  privateKey: string;
}

const EXPECTED_VALUE = 'set it to the JSON of a service account of your Firebase project, or to the path of that file';

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Reads the service account from the variable FCM_SERVICE_ACCOUNT.
 *
 * @param value the JSON itself, or the path of a file
 * @param reportError called for each configuration error
 * @returns undefined after an error
 */
export function readServiceAccount(value: string, reportError: (text: string) => void): ServiceAccount | undefined {
  const text = readCredential(value, /^\s*\{/);
  if (text === undefined) {
    reportError(`FCM_SERVICE_ACCOUNT is neither JSON nor the path of a readable file: ${EXPECTED_VALUE}`);
    return undefined;
  }
  const { data, error } = serviceAccountSchema.safeParse(parseJson(text));
  if (data === undefined) {
    const fields = error.issues.map((issue) => issue.path.join('.')).filter((path) => path !== '');
    const which = fields.length === 0 ? '' : ` (${fields.join(', ')} missing or invalid)`;
    reportError(`FCM_SERVICE_ACCOUNT is malformed${which}: ${EXPECTED_VALUE}`);
    return undefined;
  }
  try {
    createPrivateKey(data.private_key);
  } catch {
    reportError(
      'FCM_SERVICE_ACCOUNT has an invalid private_key: download the file again, and do not change the \\n in private_key',
    );
    return undefined;
  }
  return { projectId: data.project_id, clientEmail: data.client_email, privateKey: data.private_key };
}
