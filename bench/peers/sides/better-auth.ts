import type { Bench } from '../../figure.ts';
import { getUserEmail, PASSWORD, USERS } from '../../setup/seed.ts';
import { changeAndSettle, createPeerDatabase } from '../database.ts';
import { sendExpecting } from '../http.ts';
import type { AccountApi, Server } from '../side.ts';

/** Starts better-auth with an account for each user. */
export async function startBetterAuth(bench: Bench): Promise<Server> {
  const databaseUrl = await createPeerDatabase(bench.servers, 'better-auth');
  const program = new URL('../processes/better-auth.ts', import.meta.url);
  const server = await bench.children.start(program, { DATABASE_URL: databaseUrl, NODE_ENV: 'production' });
  // As a browser sends it. Without it, a request with cookies is refused.
  const headers = { origin: server.url };
  const cookies: string[] = [];
  for (let user = 0; user < USERS; user++) {
    const body = JSON.stringify({ name: `User ${user}`, email: getUserEmail(user), password: PASSWORD });
    const signUp = { method: 'POST', path: '/api/auth/sign-up/email', headers, body, status: 200 } as const;
    cookies.push((await sendExpecting(server.url, signUp)).cookies[0]!);
  }
  await changeAndSettle(databaseUrl, []);
  const accounts: AccountApi = {
    readSession: (user) => ({
      method: 'GET',
      path: '/api/auth/get-session',
      headers: { ...headers, cookie: cookies[user]! },
      status: 200,
    }),
    signIn: (user, password) => ({
      method: 'POST',
      path: '/api/auth/sign-in/email',
      headers,
      body: JSON.stringify({ email: getUserEmail(user), password }),
      status: 200,
    }),
    isUser: (user, response) => JSON.stringify(response).includes(`"${getUserEmail(user)}"`),
  };
  const reset = () => changeAndSettle(databaseUrl, []);
  return { process: server, accounts, reset };
}
