/** An access key of an S3-compatible storage. Never log it. */
export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** The token of temporary credentials. */
  sessionToken?: string | undefined;
}

/**
 * Reads the credentials for S3 from the variables that all tools for S3 use.
 *
 * @param variables name to text, as in `process.env`; an empty text counts as missing
 * @returns undefined if `AWS_ACCESS_KEY_ID` or `AWS_SECRET_ACCESS_KEY` is missing
 */
export function readS3Credentials(variables: Record<string, string | undefined>): S3Credentials | undefined {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = variables;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) return undefined;
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    sessionToken: AWS_SESSION_TOKEN || undefined,
  };
}
