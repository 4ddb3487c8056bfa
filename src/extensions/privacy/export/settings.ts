import { z } from 'zod';
import { wholeSetting } from '../../../declare/extension.ts';

/** The settings of the extension. */
export const exportSettings = z.strictObject({
  /** Hours for which an export is kept and its link works. */
  exportHours: wholeSetting(720).default(72),
  /** Maximum number of exports of one user that one requester may start in 24 hours. */
  exportsPerDay: wholeSetting(1000).default(5),
});

/** The settings of exports as a project writes them. All are optional. */
export type ExportOptions = z.input<typeof exportSettings>;

/** The settings with all defaults filled. */
export type ExportSettings = z.output<typeof exportSettings>;
