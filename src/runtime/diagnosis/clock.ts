import { type Finding, ok, warning } from './finding.ts';

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
