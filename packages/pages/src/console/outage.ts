import { signal } from '@preact/signals';
import { toRequestError } from '../kit/request.ts';

/** What the console needs: the processes of the app, and their servers. The most important first. */
const PARTS = ['server', 'postgres', 'redis'] as const;
export type Part = (typeof PARTS)[number];

/** A part that cannot be reached. */
export interface Outage {
  part: Part;
  /** In ms: when this browser tab noticed it. */
  since: number;
  /** Whether the part was reachable shortly before. Otherwise the outage may be older. */
  isExact: boolean;
}

/** The public health check, which names the parts that fail to everyone. */
const HEALTH = '/readyz';
/** The first check does not compete with what the page loads. */
const FIRST_MS = 2000;
const CHECK_MS = 10_000;
/** The interval of the checks during an outage. */
const RETRY_MS = 3000;
/** The server reuses the result of a check for half a second. */
const SOON_MS = 700;
const TIMEOUT_MS = 5000;
/** For the time of an outage, which stays the same when the page is loaded again. */
const STORED = 'belfry.console.outages';
/** Older times belong to another outage. */
const KEEP_MS = 60_000;
const GATEWAY_ERRORS = [502, 503, 504];

/** What cannot be reached now, the most important first. */
export const outages = signal<readonly Outage[]>([]);
/** How often something has become reachable again. */
export const recoveries = signal(0);

/** The parts that a check has found reachable. */
const known = new Set<Part>();
let running: Promise<void> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let waiting: (() => void)[] = [];

const isDown = (parts: readonly Part[]) => outages.value.some(({ part }) => parts.includes(part));

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const fetchHealth = () =>
  fetch(HEALTH, { cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined);

/** A server that starts again within a second was not down. */
async function fetchHealthTwice(): Promise<Response | undefined> {
  const response = await fetchHealth();
  if (response !== undefined) return response;
  await pause(SOON_MS);
  return fetchHealth();
}

/** The parts that do not work; none if that is not known, because only the console is reachable from here. */
async function findDownParts(): Promise<readonly Part[]> {
  const response = await fetchHealthTwice();
  if (response === undefined) return ['server'];
  const health: { checks?: Readonly<Record<string, unknown>> } | undefined = await response
    .json()
    .catch(() => undefined);
  if (typeof health?.checks === 'object') return PARTS.filter((part) => health.checks?.[part] === 'failed');
  return GATEWAY_ERRORS.includes(response.status) ? ['server'] : [];
}

function readStored(): readonly Outage[] {
  try {
    const { at, outages: stored } = JSON.parse(sessionStorage.getItem(STORED) ?? '{}');
    const isUsable = Array.isArray(stored) && stored.every(({ since }) => Number.isFinite(since));
    return isUsable && Date.now() - at < KEEP_MS ? stored : [];
  } catch {
    return [];
  }
}

function update(parts: readonly Part[]): void {
  const before = outages.value.length > 0 || known.size > 0 ? outages.value : readStored();
  const create = (part: Part): Outage => ({ part, since: Date.now(), isExact: known.has(part) });
  const found = parts.map((part) => before.find((one) => one.part === part) ?? create(part));
  for (const part of PARTS) if (!parts.includes(part)) known.add(part);
  const hasRecovered = isDown(PARTS.filter((part) => !parts.includes(part)));
  const isSame = found.length === outages.value.length && found.every((one, index) => one === outages.value[index]);
  if (!isSame) outages.value = found;
  if (found.length === 0) sessionStorage.removeItem(STORED);
  else sessionStorage.setItem(STORED, JSON.stringify({ at: Date.now(), outages: found }));
  if (hasRecovered) recoveries.value++;
}

function schedule(): void {
  clearTimeout(timer);
  const next = () => {
    if (document.hidden && outages.value.length === 0) schedule();
    else checkHealth();
  };
  timer = setTimeout(next, outages.value.length > 0 ? RETRY_MS : CHECK_MS);
}

/** Checks what can be reached. Callers share a check that runs. */
export function checkHealth(): Promise<void> {
  running ??= findDownParts()
    .then(update)
    .finally(() => {
      running = undefined;
      schedule();
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    });
  return running;
}

const nextCheck = () => new Promise<void>((resolve) => waiting.push(resolve));

/**
 * Waits until a part can be reached again.
 *
 * @param parts those that an error may be due to
 * @returns false if all of them can be reached now, so that the error has another cause
 */
export async function waitForRecovery(parts: readonly Part[]): Promise<boolean> {
  await checkHealth();
  if (!isDown(parts)) {
    await pause(SOON_MS);
    await checkHealth();
  }
  if (!isDown(parts)) return false;
  const count = recoveries.value;
  while (isDown(parts) && recoveries.value === count) await nextCheck();
  return true;
}

/** Returns the parts whose outage may be the cause of an error; none if it has another cause. */
export function suspectsOf(error: unknown): readonly Part[] {
  const { status, code } = toRequestError(error);
  if (status === 503 && code === 'UNAVAILABLE') return ['postgres', 'redis'];
  // A gateway answers for an app that does not run, without a code.
  return status === 0 || (code === undefined && GATEWAY_ERRORS.includes(status ?? 0)) ? ['server'] : [];
}

/** Starts to watch what can be reached. */
export function watchHealth(): void {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) checkHealth();
  });
  timer = setTimeout(checkHealth, FIRST_MS);
}
