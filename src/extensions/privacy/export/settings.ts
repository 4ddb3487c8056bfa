import { z } from 'zod';
import { settingMistakes, wholeSetting } from '../../../declare/extension-settings.ts';

const schema = z.strictObject({
  /** Hours for which an export is kept and its link works. */
  exportHours: wholeSetting(720).default(72),
  /** Exports of a user that one who asks may begin in 24 hours. */
  exportsPerDay: wholeSetting(1000).default(5),
});

/** Settings of exports as a project writes them: everything may be left out. */
export type ExportOptions = z.input<typeof schema>;

/** The settings with all defaults filled. */
export type ExportSettings = z.output<typeof schema>;

/** Every setting that is unknown or malformed, a line each. */
export function settingsMistakes(options: ExportOptions): string[] {
  return settingMistakes('privacy', schema, options);
}

/** Fills the defaults of settings that are free of mistakes. */
export function readSettings(options: ExportOptions): ExportSettings {
  return schema.parse(options);
}
