import { z } from 'zod';
import { settingMistakes, wholeSetting } from '../../declare/extension-settings.ts';

const schema = z.strictObject({
  /** Days for which a row is kept, and can neither be changed nor removed. */
  keepDays: wholeSetting(36_500).default(365),
});

/** The settings of the extension as a project writes them: everything may be left out. */
export type AuditOptions = z.input<typeof schema>;

/** Every setting that is unknown or malformed, a line each. */
export function settingsMistakes(options: AuditOptions): string[] {
  return settingMistakes('audit', schema, options);
}

/** Fills the defaults of settings that are free of mistakes. */
export function readSettings(options: AuditOptions): z.output<typeof schema> {
  return schema.parse(options);
}
