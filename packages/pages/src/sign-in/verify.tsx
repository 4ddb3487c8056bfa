import { useState } from 'preact/hooks';
import { toRequestError } from '../kit/request.ts';
import { CodeField } from './fields.tsx';
import { Form, type FormValues } from './form.tsx';
import type { Message, SignInResponse, User, VerifiedEmail } from './responses.ts';
import {
  config,
  continueSignIn,
  forgetLinkToken,
  pagePath,
  readToken,
  readVerificationToken,
  request,
  requestAsAnyone,
  requestAsUser,
  requestedPath,
  takeLinkToken,
} from './session.ts';
import { useStart } from './start.ts';
import { texts } from './texts.ts';
import { announce, Button, View, type ViewProps } from './view.tsx';

const { verify: text } = texts;

type VerifyView =
  | { kind: 'working'; token: string }
  | { kind: 'signInFirst' }
  /** `round`: how many e-mails were requested here. Each of them begins the view anew. */
  | { kind: 'code'; round: number; problem?: string }
  | { kind: 'done'; email: string };

/**
 * Confirms the address: with the session, or with the secret of a registration or login that waits for it. Returns the address; undefined if
 * the page is left.
 */
async function confirm(proof: { token: string } | FormValues): Promise<string | undefined> {
  const path = '/auth/email/verify';
  const verificationToken = readVerificationToken();
  const data =
    verificationToken === undefined
      ? await requestAsAnyone<VerifiedEmail | SignInResponse>('POST', path, proof)
      : await request<VerifiedEmail | SignInResponse>('POST', path, { ...proof, verificationToken });
  forgetLinkToken();
  if ('emailVerifiedAt' in data) return data.email;
  continueSignIn(data);
  return undefined;
}

/** Returns the address of the user if it is confirmed: a second click on the link is no problem for the user. */
async function findVerifiedEmail(): Promise<string | undefined> {
  if (readToken() === undefined) return undefined;
  const user = await requestAsAnyone<User>('GET', '/auth/me').catch(() => undefined);
  return user?.emailVerifiedAt === undefined ? undefined : user.email;
}

function SignInFirstView() {
  return (
    <View heading={text.heading}>
      <p>{text.signInFirst}</p>
      <p>
        <a href={pagePath('sign-in', '/auth/verify')}>{texts.signIn.submit}</a>
      </p>
    </View>
  );
}

function DoneView({ email }: { email: string }) {
  return (
    <View heading={text.doneHeading}>
      <p>{text.done(email)}</p>
      <p>
        <a href={requestedPath() ?? config.afterSignIn}>{texts.continue}</a>
      </p>
    </View>
  );
}

function CodeView({ problem, round, show }: ViewProps<VerifyView, 'code'>) {
  async function send({ code }: FormValues) {
    const email = await confirm({ code });
    if (email !== undefined) show({ kind: 'done', email });
  }
  async function sendAgain() {
    const { message } = await requestAsUser<Message>('POST', '/auth/email/verification');
    announce(message);
    show({ kind: 'code', round: round + 1 });
  }
  return (
    <View heading={text.heading} problem={problem}>
      <p>{text.intro}</p>
      <Form submit={text.submit} send={send}>
        <CodeField />
      </Form>
      {readToken() === undefined ? (
        // Without a session, signing in again sends a new e-mail.
        <p>
          <a href={pagePath('sign-in')}>{text.again}</a>
        </p>
      ) : (
        <Button run={sendAgain}>{text.again}</Button>
      )}
    </View>
  );
}

function openPage(): VerifyView {
  const token = takeLinkToken();
  if (readToken() === undefined && readVerificationToken() === undefined) return { kind: 'signInFirst' };
  return token === undefined ? { kind: 'code', round: 0 } : { kind: 'working', token };
}

/** Confirms the address with the token of a link. Returns the view that follows; undefined if the page is left. */
async function confirmLink(token: string): Promise<VerifyView | undefined> {
  try {
    const email = await confirm({ token });
    return email === undefined ? undefined : { kind: 'done', email };
  } catch (error) {
    const { status, code, message } = toRequestError(error);
    if (status === 401) return { kind: 'signInFirst' };
    forgetLinkToken();
    const email = code === 'INVALID_TOKEN' ? await findVerifiedEmail() : undefined;
    if (email !== undefined) return { kind: 'done', email };
    return { kind: 'code', round: 0, problem: message };
  }
}

/** Confirm the address with the link or the code of an e-mail. */
export function Page() {
  const [view, show] = useState(openPage);
  useStart(async () => {
    const next = view.kind === 'working' ? await confirmLink(view.token) : undefined;
    if (next !== undefined) show(next);
  });
  switch (view.kind) {
    case 'working':
      return (
        <View heading={text.heading} isWorking>
          <p>{text.working}</p>
        </View>
      );
    case 'signInFirst':
      return <SignInFirstView />;
    case 'done':
      return <DoneView email={view.email} />;
    case 'code':
      return <CodeView key={view.round} {...view} show={show} />;
  }
}
