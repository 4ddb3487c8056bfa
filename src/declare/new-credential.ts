import { z } from 'zod';

/** The field `code` in the body of a route that answers with a credential: see `Accounts.confirmNewCredential`. */
export const newCredentialCode = z
  .string({ error: 'Must be a string' })
  .max(64, { error: 'Must be at most 64 characters' })
  .optional()
  .meta({
    description:
      'A code of your second factor. Required if you have one, unless you confirmed it on this session within the last 10 minutes',
  });
