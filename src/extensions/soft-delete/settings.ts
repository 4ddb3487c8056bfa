import { z } from 'zod';
import { wholeSetting } from '../../declare/extension.ts';

/** The settings of the extension. */
export const softDeleteSettings = z.strictObject({
  /** Days for which a deleted record is kept. */
  keepDays: wholeSetting(3650).default(30),
});

/** The settings of the extension as a project writes them. All are optional. */
export type SoftDeleteOptions = z.input<typeof softDeleteSettings>;
