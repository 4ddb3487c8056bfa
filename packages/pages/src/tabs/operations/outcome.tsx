import { Status, type StatusKind } from '../../console/kit.ts';
import { msText } from './format.tsx';
import type { LogFields } from './log-fields.ts';
import { texts } from './texts.ts';

const { outcomes: words } = texts;

/** What outcomes are filtered by. */
export const OUTCOMES = ['succeeded', 'refused', 'retry', 'failed'] as const;
export type OutcomeGroup = (typeof OUTCOMES)[number];

/** How something has ended, in words. */
export interface Outcome {
  /** Left out: neither a success nor a failure. */
  group?: OutcomeGroup;
  kind: StatusKind;
  text: string;
}

/** The choices of a filter by outcome. */
export const OUTCOME_OPTIONS = OUTCOMES.map((group) => [group, words[group]] as const);

const succeeded = (text: string): Outcome => ({ group: 'succeeded', kind: 'good', text });
const failed = (text: string): Outcome => ({ group: 'failed', kind: 'bad', text });
const neutral = (text: string): Outcome => ({ kind: 'neutral', text });

/** How a request has ended. @param status null: the client left before the response was sent */
export function requestOutcome(status: number | null | undefined): Outcome {
  if (status === null || status === undefined) return neutral(words.clientLeft);
  if (status >= 500) return failed(words.withStatus(words.failed, String(status)));
  if (status >= 400) return { group: 'refused', kind: 'warn', text: words.withStatus(words.refused, String(status)) };
  return succeeded(words.withStatus(words.succeeded, String(status)));
}

/** How units of work end, by the words of the log. */
const OF_WORK: Readonly<Record<string, Outcome>> = {
  succeeded: succeeded(words.succeeded),
  delivered: succeeded(words.delivered),
  sent: succeeded(words.sent),
  done: succeeded(words.done),
  ready: succeeded(words.done),
  captured: succeeded(words.captured),
  'nothing to send': neutral(words.nothing),
  released: neutral(words.released),
  lost: neutral(words.lost),
  failed: failed(words.failed),
  'endpoint disabled': failed(words.disabled),
  'result not written': failed(words.notStored),
};

function retryText({ retryInMs, retryAt, time }: LogFields): string {
  const ms = retryInMs ?? (retryAt === undefined ? undefined : Date.parse(retryAt) - Date.parse(time ?? ''));
  return ms === undefined || !(ms >= 0) ? words.retry : words.retryIn(msText(ms));
}

/** How the work that a line of the log is about has ended; undefined for a line without an outcome. */
export function outcomeOf(fields: LogFields): Outcome | undefined {
  const { method, status, outcome, decision, level } = fields;
  if (method !== undefined) return requestOutcome(outcome === 'aborted' ? null : status);
  const result = decision ?? outcome;
  if (result === 'retry') return { group: 'retry', kind: 'warn', text: retryText(fields) };
  if (result !== undefined && Object.hasOwn(OF_WORK, result)) return OF_WORK[result];
  if (level === 'error' || level === 'fatal') return failed(words.error);
  if (level === 'warn') return { kind: 'warn', text: words.warning };
  return result === undefined ? undefined : neutral(result);
}

export const OutcomeStatus = ({ outcome: { kind, text } }: { outcome: Outcome }) => <Status kind={kind}>{text}</Status>;
