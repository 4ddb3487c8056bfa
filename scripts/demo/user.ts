import type { Receiver } from './receiver.ts';

/** A user of the demonstration: an account with an endpoint that subscribes to new posts. */
export interface DemoUser {
  name: string;
  /** Creates a post and returns its id. Each client has an address of its own, since rate limits are per address. */
  post(title: string, status: 'draft' | 'published', client: number): Promise<string>;
}

async function postJson(url: string, token: string | undefined, body: object, client = 0) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': `203.0.113.${client}`,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { data: Record<string, never>; error?: { message: string } };
  if (!response.ok) throw new Error(`POST ${url} failed with status ${response.status}: ${answer.error?.message}`);
  return answer.data;
}

/** Registers a user and a webhook endpoint over HTTP, as any client would. */
export async function registerUser(url: string, name: string, receiver: Receiver): Promise<DemoUser> {
  const email = `${name}-${Date.now()}@example.com`;
  const { token } = await postJson(`${url}/api/auth/register`, undefined, {
    name,
    email,
    password: 'a bell rings at noon',
  });
  const endpoint = await postJson(`${url}/api/webhooks`, token, { url: receiver.url(name), events: ['post.created'] });
  receiver.trust(name, endpoint.secret!);
  return {
    name,
    async post(title, status, client) {
      return (await postJson(`${url}/api/posts`, token, { title, status, body: 'Every delivery arrives.' }, client))
        .id!;
    },
  };
}
