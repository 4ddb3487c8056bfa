import { z } from 'zod';
import { settingMistakes, wholeSetting } from '../../declare/extension-settings.ts';

const schema = z.strictObject({
  /** Days for which a deleted record is kept. */
  keepDays: wholeSetting(3650).default(30),
});

/** The settings of the extension as a project writes them: everything may be left out. */
export type SoftDeleteOptions = z.input<typeof schema>;

/** Every setting that is unknown or malformed, a line each. */
export function settingsMistakes(options: SoftDeleteOptions): string[] {
  return settingMistakes('softDelete', schema, options);
}

/** Fills the defaults of settings that are free of mistakes. */
export function readSettings(options: SoftDeleteOptions): z.output<typeof schema> {
  return schema.parse(options);
}
