import { z } from 'zod';
import { wholeSetting } from '../../../declare/extension-settings.ts';

/** The settings of the extension. */
export const exportSettings = z.strictObject({
  /** Hours for which an export is kept and its link works. */
  exportHours: wholeSetting(720).default(72),
  /** Exports of a user that one who asks may begin in 24 hours. */
  exportsPerDay: wholeSetting(1000).default(5),
});

/** Settings of exports as a project writes them: everything may be left out. */
export type ExportOptions = z.input<typeof exportSettings>;

/** The settings with all defaults filled. */
export type ExportSettings = z.output<typeof exportSettings>;
