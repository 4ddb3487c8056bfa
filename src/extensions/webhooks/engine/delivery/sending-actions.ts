import { createAttemptTarget, type Outcome, type Target } from './attempt.ts';
import { type CheckedAttempts, createCheckedAttempts } from './checked-attempts.ts';
import type { ClaimedEndpoint } from './claim.ts';
import { NEXT_DUE_MS } from './due-sql.ts';
import type { EndpointLease, LaneClaim } from './endpoint-lease.ts';
import type { Linger } from './linger.ts';
import type { ReleaseSlot } from './request-slots.ts';
import { attemptRequestedDelivery, claimRequestedDelivery } from './requested-deliveries.ts';
import type { SendDependencies } from './send-parts.ts';
import { mayStillSend } from './sending-decisions.ts';
import type { Circumstances, SendingAction, SendingEvent, SendingState } from './sending-state.ts';
import { step } from './sending-step.ts';

/** A lease under which deliveries are sent, with what the actions of `step` need. */
export interface Sending {
  readonly parts: SendDependencies;
  readonly lease: EndpointLease;
  readonly state: SendingState;
  /** Used again for each event. */
  readonly circumstances: Circumstances;
  /** Makes the attempts at the endpoint, with the settings that the last claim returned. */
  attempts: CheckedAttempts;
  target: Target | Error;
  /** The slot that was acquired before the lease, until the first request uses it. */
  firstSlot: ReleaseSlot | undefined;
  readonly linger: Linger;
  readonly onEnd: () => void;
}

const PROCEEDED: SendingEvent = { type: 'proceeded' };

type ActionOf<Type extends SendingAction['type']> = Extract<SendingAction, { type: Type }>;

/** Creates what makes the attempts at an endpoint. */
export function createAttempts({ check, sender, host }: SendDependencies, endpoint: ClaimedEndpoint): CheckedAttempts {
  return createCheckedAttempts({ check, sender, ...host }, endpoint);
}

function observe({ parts, lease, linger, circumstances }: Sending): Circumstances {
  circumstances.now = performance.now();
  circumstances.isOutdated = lease.isOutdated();
  circumstances.isStopping = parts.isStopping();
  circumstances.canWorkerLinger = linger.isAllowed();
  circumstances.areJobsFull = parts.jobs.isFull();
  return circumstances;
}

/** Passes an event to `step`, and carries out the actions. */
export function handle(sending: Sending, event: SendingEvent): void {
  let next: SendingEvent | undefined = event;
  while (next !== undefined) {
    const actions = step(sending.state, next, observe(sending));
    next = undefined;
    for (const action of actions) {
      if (action.type === 'proceed') next = PROCEEDED;
      else performAction(sending, action);
    }
  }
}

function performAction(sending: Sending, action: Exclude<SendingAction, { type: 'proceed' }>): void {
  switch (action.type) {
    case 'acquireSlot':
      acquireSlot(sending);
      break;
    case 'send':
      void send(sending, action);
      break;
    case 'record':
      record(sending, action);
      break;
    case 'releaseSlot':
      action.slot(action.isGood);
      break;
    case 'claim':
      void claim(sending);
      break;
    case 'acquireRequestedSlot':
      acquireRequestedSlot(sending);
      break;
    case 'claimRequested':
      void claimRequested(sending, action);
      break;
    case 'sendRequested':
      void sendRequested(sending, action);
      break;
    case 'linger':
      sending.linger.begin(action.ms);
      break;
    case 'endLinger':
      sending.linger.end();
      break;
    case 'checkDue':
      void checkDue(sending);
      break;
    case 'end':
      sending.onEnd();
  }
}

function acquireSlot(sending: Sending): void {
  const { parts, state, firstSlot } = sending;
  sending.firstSlot = undefined;
  if (firstSlot !== undefined) handle(sending, { type: 'slotGranted', slot: firstSlot });
  else parts.slots.acquire(state.lane, state.endpoint.owner, (slot) => handle(sending, { type: 'slotGranted', slot }));
}

async function send(sending: Sending, { delivery, slot }: ActionOf<'send'>): Promise<void> {
  if (!sending.lease.tryCountAgainstRateLimit()) {
    handle(sending, { type: 'rateLimited', delivery, slot });
    return;
  }
  const { attempts, state } = sending;
  // Do not send what was checked for one API key to a URL that was set with another key meanwhile.
  const getTarget = () =>
    attempts === sending.attempts && mayStillSend(state, observe(sending)) ? sending.target : undefined;
  let outcome: Outcome | undefined;
  try {
    outcome = await attempts.attemptIfReadable(getTarget, delivery, state.queue);
  } catch (error) {
    logFailedCheck(sending, error);
    handle(sending, { type: 'checkFailed', slot, isRequested: false });
    return;
  }
  handle(sending, { type: 'attempted', delivery, outcome, slot, isRequested: false });
}

function record(sending: Sending, { delivery, outcome }: ActionOf<'record'>): void {
  const { parts, lease, state } = sending;
  const { id, eventId, type, attempt, scheduleAttempt, dueAt } = delivery;
  const endpointId = state.endpoint.id;
  const isEncrypted = delivery.encryptedBody !== null;
  const end = (isWritten: boolean) => {
    lease.setResultWritten(id, isWritten);
    handle(sending, { type: 'resultWritten', isWritten });
  };
  parts.recordResult({ id, endpointId, eventId, type, isEncrypted, attempt, scheduleAttempt, dueAt, outcome }).then(
    () => end(true),
    (error: unknown) => {
      logError(sending, error, 'the result of a webhook delivery could not be stored; it may be sent again');
      end(false);
    },
  );
}

async function claim(sending: Sending): Promise<void> {
  let claim: LaneClaim | undefined;
  let isUsable = true;
  try {
    claim = await sending.lease.claim(sending.state.lane);
  } catch (error) {
    logError(sending, error, 'webhook deliveries could not be claimed; the sweep will find them');
  }
  try {
    if (claim !== undefined) useSettings(sending, claim.endpoint);
  } catch (error) {
    logFailedCheck(sending, error);
    isUsable = false;
  }
  handle(sending, { type: 'claimed', claim, isUsable });
}

/** Makes the next attempts with the settings that the latest claim returned. */
function useSettings(sending: Sending, endpoint: ClaimedEndpoint): void {
  const { parts, state } = sending;
  // The endpoint may be bound to another API key by now, or its organisation may read with another role: with narrower access.
  const readerOf = ({ key, organisationRole }: ClaimedEndpoint) => JSON.stringify([key, organisationRole]);
  if (readerOf(endpoint) !== readerOf(state.endpoint)) sending.attempts = createAttempts(parts, endpoint);
  else sending.attempts.setReadOwner(endpoint.readOwner);
  sending.target = createAttemptTarget(parts.sender, endpoint);
}

/**
 * The lease does not wait for the slot: if none becomes free before the lease ends, its release adds a job for the requests. Otherwise
 * hanging tests of other endpoints would delay the ordinary deliveries of this endpoint.
 */
function acquireRequestedSlot(sending: Sending): void {
  const { parts, state } = sending;
  parts.slots.acquire('requested', state.endpoint.owner, (slot) =>
    handle(sending, { type: 'requestedSlotGranted', slot }),
  );
}

async function claimRequested(sending: Sending, { slot }: ActionOf<'claimRequested'>): Promise<void> {
  const claim = await claimRequestedDelivery(sending.parts, sending.lease, sending.state.endpoint.id);
  handle(sending, { type: 'requestedClaimed', claim, slot });
}

async function sendRequested(sending: Sending, { claim, slot }: ActionOf<'sendRequested'>): Promise<void> {
  const delivery = claim.deliveries[0]!;
  let outcome: Outcome;
  try {
    outcome = await attemptRequestedDelivery(sending.parts, claim, delivery);
  } catch (error) {
    logFailedCheck(sending, error);
    handle(sending, { type: 'checkFailed', slot, isRequested: true });
    return;
  }
  handle(sending, { type: 'attempted', delivery, outcome, slot, isRequested: true });
}

async function checkDue(sending: Sending): Promise<void> {
  const { parts, state } = sending;
  const statement = { name: 'webhook_next', text: NEXT_DUE_MS, values: [state.endpoint.id] };
  // If that is unknown, the next lease finds out.
  const [earliest] = await parts.host.database.read<[number]>(statement).catch(() => [[0]]);
  handle(sending, { type: 'dueChecked', dueInMs: earliest?.[0] });
}

function logFailedCheck(sending: Sending, error: unknown): void {
  logError(sending, error, 'webhook deliveries could not be checked; they will be retried');
}

function logError({ parts, state }: Sending, error: unknown, message: string): void {
  parts.host.log.error({ err: error, endpoint: state.endpoint.id }, message);
}
