import { z } from 'zod';

/** Returns the schema of a text that a body must have. @param max the maximum length in UTF-16 code units */
export const requiredTextSchema = (max: number) =>
  z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .max(max, { error: `Must be at most ${max} characters` });
