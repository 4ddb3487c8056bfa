import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Behaviour, Receivers } from './receiver.ts';

/** A user with endpoints that subscribe to new posts. */
interface LoadUser {
  token: string;
  endpoints: string[];
}

/** A planned record: its owner, and whether everyone may read it. */
interface PlannedRecord {
  author: LoadUser;
  published: boolean;
}

// A killed worker holds up to 10 endpoints for some seconds. With many endpoints, later disruptions still hit workers that are sending.
const userCountFor = (deliveries: number) => (deliveries < 2000 ? 4 : 12);
const ENDPOINTS = 5;
const CLIENTS = 8;
const RETRY_MS = 100;
const CREATE_TIMEOUT_MS = 60_000;
const BEHAVIOURS: readonly Behaviour[] = ['prompt', 'prompt', 'slow', 'slow', 'failing'];

let requestCount = 0;

/** Sends from a new address each time, since rate limits are per address. Undefined: no response, or a server error. */
async function postJson(url: string, token: string, body: object, key: string = randomUUID()) {
  requestCount += 1;
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'x-forwarded-for': `10.${(requestCount >> 16) & 255}.${(requestCount >> 8) & 255}.${requestCount & 255}`,
  };
  if (token !== '') Object.assign(headers, { authorization: `Bearer ${token}`, 'idempotency-key': key });
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }).catch(() => undefined);
  const answer = (await response?.json().catch(() => undefined)) as { data: Record<string, never> } | undefined;
  if (response?.ok === true) return answer?.data;
  if (response !== undefined && response.status < 500 && response.status !== 409)
    throw new Error(`POST ${url} failed with status ${response.status}: ${JSON.stringify(answer)}`);
  return undefined;
}

async function registerUser(url: string, name: string, receivers: Receivers): Promise<LoadUser> {
  const account = { name, email: `${name}@example.com`, password: 'a bell rings at noon' };
  const { token } = (await postJson(`${url}/api/auth/register`, '', account))!;
  const endpoints = BEHAVIOURS.map((_, index) => `${name}-${index}`);
  for (const [index, endpoint] of endpoints.entries()) {
    const created = await postJson(`${url}/api/webhooks`, token!, {
      url: receivers.url(endpoint),
      events: ['post.created'],
    });
    receivers.open(endpoint, created!.secret!, BEHAVIOURS[index]!);
  }
  return { token: token!, endpoints };
}

/** The records that each endpoint must receive. */
export type Expected = Map<string, Set<string>>;

/** A load: users, their endpoints, and the records that cause about this many deliveries. */
export interface Load {
  endpoints: number;
  deliveries: number;
  /** Creates the records in bursts over the time. Returns the acknowledged ones. */
  run(ms: number): Promise<Expected>;
}

/** Registers users and endpoints, and plans the records. */
export async function prepareLoad(
  url: string,
  receivers: Receivers,
  { deliveries, random }: { deliveries: number; random: () => number },
): Promise<Load> {
  const users = await Promise.all(
    Array.from({ length: userCountFor(deliveries) }, (_, i) => registerUser(url, `person${i}`, receivers)),
  );
  const endpointNames = users.flatMap(({ endpoints }) => endpoints);
  const planned: PlannedRecord[] = [];
  let sum = 0;
  while (sum < deliveries) {
    const author = users[Math.floor(random() * users.length)]!;
    const published = random() < 0.25;
    planned.push({ author, published });
    sum += published ? endpointNames.length : ENDPOINTS;
  }

  /** Creates a record. Repeats the request with the same idempotency key until the server confirms it, so that one record is created. */
  async function create({ author, published }: PlannedRecord, number: number): Promise<string> {
    const key = randomUUID();
    const record = {
      title: `Post ${number}`,
      status: published ? 'published' : 'draft',
      body: 'Every delivery arrives.',
    };
    for (const end = Date.now() + CREATE_TIMEOUT_MS; Date.now() < end; await sleep(RETRY_MS)) {
      const created = await postJson(`${url}/api/posts`, author.token, record, key);
      if (created !== undefined) return created.id!;
    }
    throw new Error(`no response confirmed the creation of a record within ${CREATE_TIMEOUT_MS / 1000} s`);
  }

  return {
    endpoints: endpointNames.length,
    deliveries: sum,
    async run(ms) {
      const expected: Expected = new Map(endpointNames.map((name) => [name, new Set()]));
      const startedAt = Date.now();
      let next = 0;
      const runClient = async () => {
        while (next < planned.length) {
          const number = next++;
          // Bursts keep more deliveries in flight at once.
          const progress = (number - (number % CLIENTS)) / planned.length;
          await sleep(Math.max(0, startedAt + progress * ms - Date.now()));
          const one = planned[number]!;
          const id = await create(one, number);
          for (const name of one.published ? endpointNames : one.author.endpoints) expected.get(name)!.add(id);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, runClient));
      return expected;
    },
  };
}
