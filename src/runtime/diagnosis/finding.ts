/** A result of `belfry doctor`. */
export interface Finding {
  level: 'ok' | 'warning' | 'error';
  /** What was found, one sentence. */
  message: string;
  /** What to do about it. */
  fix?: string;
}

export const ok = (message: string): Finding => ({ level: 'ok', message });

const withFix = (fix: string | undefined) => (fix === undefined ? {} : { fix });

/** A warning. @param fix undefined if the message says what to do */
export const warning = (message: string, fix?: string): Finding => ({ level: 'warning', message, ...withFix(fix) });

/** An error. @param fix undefined if the message says what to do */
export const failure = (message: string, fix?: string): Finding => ({ level: 'error', message, ...withFix(fix) });
