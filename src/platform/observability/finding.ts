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

/** Sessions, signatures of webhooks and one-time codes tolerate a difference of a few seconds. */
const MAX_DIFFERENCE_MS = 2000;

/** Compares the clock of a server, in epoch ms, with the clock of this machine before and after the question. */
export function compareClocks(server: string, serverMs: number, askedMs: number, answeredMs: number): Finding {
  const difference = Math.round(serverMs - (askedMs + answeredMs) / 2);
  // A slow network does not make a clock wrong.
  const uncertainty = (answeredMs - askedMs) / 2;
  if (Math.abs(difference) - uncertainty <= MAX_DIFFERENCE_MS)
    return ok(`The clocks of ${server} and this machine agree`);
  const seconds = (Math.abs(difference) / 1000).toFixed(1);
  return warning(
    `The clock of ${server} is ${seconds} s ${difference > 0 ? 'ahead of' : 'behind'} the clock of this machine`,
    'synchronize both with NTP: signatures, sessions and one-time codes depend on the time',
  );
}
