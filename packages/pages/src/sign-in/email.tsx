import { useState } from 'preact/hooks';
import { toRequestError } from '../kit/request.ts';
import { CodeField, EmailField } from './fields.tsx';
import { Form, type FormValues } from './form.tsx';
import type { SignInResponse } from './responses.ts';
import {
  continueSignIn,
  forgetLinkToken,
  knownEmail,
  readStored,
  request,
  requestedPath,
  takeLinkToken,
} from './session.ts';
import { useStart } from './start.ts';
import { texts } from './texts.ts';
import { BackToSignIn, Button, View, type ViewProps } from './view.tsx';

const { email: text } = texts;

/** The key in localStorage of the request, because the link opens in a new tab. */
const REQUEST_KEY = 'belfry.emailSignIn';

/** A requested e-mail. */
interface StartedSignIn {
  signInToken: string;
  email: string;
  next?: string;
}

type EmailView =
  | { kind: 'request'; problem?: string }
  | { kind: 'code'; started: StartedSignIn }
  | { kind: 'working'; started: StartedSignIn; token: string };

/** Finishes the sign-in with the link's token or the code. */
async function finish({ signInToken, next }: StartedSignIn, proof: { token: string } | FormValues): Promise<void> {
  const data = await request<SignInResponse>('POST', '/auth/email-sign-in/verify', { signInToken, ...proof });
  localStorage.removeItem(REQUEST_KEY);
  continueSignIn(data, next ?? requestedPath());
}

function RequestView({ problem, show }: ViewProps<EmailView, 'request'>) {
  async function send({ email }: FormValues) {
    const { signInToken } = await request<{ signInToken: string }>('POST', '/auth/email-sign-in', { email });
    const started = { signInToken, email: String(email), next: requestedPath() };
    localStorage.setItem(REQUEST_KEY, JSON.stringify(started));
    show({ kind: 'code', started });
  }
  return (
    <View heading={text.heading} problem={problem}>
      <p>{text.intro}</p>
      <Form submit={text.submit} send={send}>
        <EmailField value={knownEmail()} />
      </Form>
      <BackToSignIn />
    </View>
  );
}

function CodeView({ started, show }: ViewProps<EmailView, 'code'>) {
  function startAgain() {
    localStorage.removeItem(REQUEST_KEY);
    show({ kind: 'request' });
  }
  return (
    <View heading={text.codeHeading}>
      <p>{text.codeIntro(started.email)}</p>
      <Form submit={text.codeSubmit} send={({ code }) => finish(started, { code })}>
        <CodeField />
      </Form>
      <Button run={startAgain}>{text.again}</Button>
      <BackToSignIn />
    </View>
  );
}

function openPage(): EmailView {
  const token = takeLinkToken();
  const started = readStored<StartedSignIn>(localStorage, REQUEST_KEY);
  if (token === undefined) return started === undefined ? { kind: 'request' } : { kind: 'code', started };
  forgetLinkToken();
  if (started === undefined) return { kind: 'request', problem: text.otherBrowser };
  return { kind: 'working', started, token };
}

/** Request an e-mail with a link and a code, and sign in with either. */
export function Page() {
  const [view, show] = useState(openPage);
  useStart(async () => {
    if (view.kind !== 'working') return;
    await finish(view.started, { token: view.token }).catch((error: unknown) =>
      show({ kind: 'request', problem: toRequestError(error).message }),
    );
  });
  switch (view.kind) {
    case 'request':
      return <RequestView {...view} show={show} />;
    case 'code':
      return <CodeView {...view} show={show} />;
    case 'working':
      return (
        <View heading={text.heading} isWorking>
          <p>{text.working}</p>
        </View>
      );
  }
}
