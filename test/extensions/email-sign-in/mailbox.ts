import { Client } from 'pg';
import { afterAll, expect, onTestFinished, TestRunner, vi } from 'vitest';
import type { ApiResponse } from '../../support/app.ts';

/** The part of a test app that these helpers need. */
interface MailedApp {
  app: { captured: { mails(): Promise<{ to: string; subject: string; text: string }[]> } };
  call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<ApiResponse>;
  env: Record<string, string>;
}

/** A requested sign-in, as the user sees it: the secret of the browser, and the link and code of the e-mail. */
export interface RequestedSignIn {
  email: string;
  signInToken: string;
  token: string;
  code: string;
}

export const INVALID = { code: 'INVALID_TOKEN', message: 'This link or code is invalid or has expired' };

/** Waits until the value exists. A busy machine may need a while. */
export const until = <T>(look: () => T | Promise<T>) => vi.waitUntil(look, { timeout: 60_000, interval: 10 });

export const statuses = (responses: { status: number }[]) => responses.map(({ status }) => status).sort();

/** Returns a code that is not the code of any of these sign-ins. */
export function wrongCode(...requested: { code: string }[]): string {
  const codes = requested.map(({ code }) => code);
  return Array.from({ length: 10 }, (_, digit) => String(digit).repeat(6)).find((code) => !codes.includes(code))!;
}

/** Helpers to sign in by e-mail at a test app, and a connection to its database, for the whole test file, or for one test if called within it. */
export async function openMailbox({ app, call, env }: MailedApp) {
  const sql = new Client({ connectionString: env.DATABASE_URL! });
  await sql.connect();
  // Within a test, vitest ignores afterAll.
  const atEnd = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished;
  atEnd(() => sql.end());

  const mailsTo = async (email: string) => (await app.captured.mails()).filter(({ to }) => to === email);
  const ask = (email: unknown, headers?: Record<string, string>) =>
    call('POST', '/api/auth/email-sign-in', { email }, headers);
  const verify = (body: unknown) => call('POST', '/api/auth/email-sign-in/verify', body);

  return {
    sql,
    mailsTo,
    ask,
    verify,
    /** Resolves once no e-mail waits to be composed. */
    async allComposed(): Promise<void> {
      await until(async () => (await sql.query('select 1 from mails where finished_at is null')).rowCount === 0);
    },
    /** Requests an e-mail and reads it. */
    async request(email: string): Promise<RequestedSignIn> {
      const before = (await mailsTo(email)).length;
      const { status, body } = await ask(email);
      expect(status).toBe(202);
      const [mail] = await until(async () => {
        const mails = await mailsTo(email);
        return mails.length > before ? mails : undefined;
      });
      const token = /#token=([\w-]{43})\n/.exec(mail!.text)![1]!;
      const code = /^\d{6}$/m.exec(mail!.text)![0];
      return { email, signInToken: body.data.signInToken, token, code };
    },
    withLink: ({ signInToken, token }: RequestedSignIn) => verify({ signInToken, token }),
    withCode: ({ signInToken, code }: RequestedSignIn, other = code) => verify({ signInToken, code: other }),
    sessionsOf: async (userId: string): Promise<{ method: string }[]> =>
      (await sql.query('select method from sessions where user_id = $1 order by created_at', [userId])).rows,
    usersWith: async (email: string): Promise<Record<string, unknown>[]> =>
      (await sql.query('select * from users where email = $1', [email])).rows,
  };
}
