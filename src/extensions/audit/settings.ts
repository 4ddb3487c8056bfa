import { z } from 'zod';
import { wholeSetting } from '../../declare/extension.ts';

/** The settings of the extension. */
export const auditSettings = z.strictObject({
  /** Days for which a row is kept, and can be neither changed nor removed. */
  keepDays: wholeSetting(36_500).default(365),
});

/** The settings of the extension as a project writes them. All are optional. */
export type AuditOptions = z.input<typeof auditSettings>;
