import type { SimulatedBehavior, SimulatedNotification } from '../../declare/simulated.ts';
import type { TransportResult } from '../transport.ts';

/** What becomes of a notification on a device, or what its provider answers instead of taking it. */
type Answer = { state: SimulatedNotification['state'] } | { refused: TransportResult };

const gone = (error: string): Answer => ({ refused: { ok: false, error, unregistered: true } });

const ANSWERS: Record<SimulatedBehavior, Answer> = {
  delivers: { state: 'shown' },
  offline: { state: 'held' },
  'notifications-off': { state: 'hidden' },
  'app-uninstalled': gone('DeviceNotRegistered'),
  'invalid-token': gone('InvalidRegistration'),
  'rate-limited': { refused: { ok: false, error: 'MessageRateExceeded', retryable: true } },
};

/** How a device of a behavior takes a message. A silent one is seen by nobody. */
export function answerOf(behavior: SimulatedBehavior, silent: boolean): Answer {
  const answer = ANSWERS[behavior];
  return silent && 'state' in answer && answer.state === 'shown' ? { state: 'hidden' } : answer;
}
