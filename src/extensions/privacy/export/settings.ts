/** Settings of exports. */
export interface ExportOptions {
  /** Hours for which an export is kept and its link works. Default 72. */
  exportHours?: number;
  /** Exports of a user that one who asks may begin in 24 hours. Default 5. */
  exportsPerDay?: number;
}

/** The defaults. */
export const EXPORT_DEFAULTS = { exportHours: 72, exportsPerDay: 5 } as const;

const MOST = { exportHours: 720, exportsPerDay: 1000 } as const;

/** What is wrong with the settings, a line each. */
export function exportMistakes(options: ExportOptions): string[] {
  return (['exportHours', 'exportsPerDay'] as const).flatMap((name) => {
    const value: unknown = options[name] ?? EXPORT_DEFAULTS[name];
    if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST[name]) return [];
    return [`privacy.${name}: must be a whole number from 1 to ${MOST[name]}`];
  });
}
