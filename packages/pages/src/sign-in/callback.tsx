import { useState } from 'preact/hooks';
import { toRequestError } from '../kit/request.ts';
import { CancelledError, withRecentSignIn } from './confirm.tsx';
import { type Flow, type LinkFlow, takeFlow } from './oidc.ts';
import { ProviderIcon } from './provider-icon.tsx';
import type { SignInResponse } from './responses.ts';
import { continueSignIn, pagePath, request, requestAsUser } from './session.ts';
import { useStart } from './start.ts';
import { texts } from './texts.ts';
import { Button, View, type ViewProps } from './view.tsx';

const { callback: text } = texts;

type CallbackView =
  | { kind: 'working'; code: string; codeVerifier: string; next: string | undefined }
  | { kind: 'consent'; code: string; flow: LinkFlow }
  | { kind: 'failed'; message: string };

const fail = (error: unknown): CallbackView => ({ kind: 'failed', message: toRequestError(error).message });

function FailedView({ message, flow }: { message: string; flow: Flow | undefined }) {
  const isLink = flow?.purpose === 'link';
  return (
    <View heading={isLink ? text.linkFailedHeading : text.failedHeading} problem={message}>
      <p>
        <a href={isLink ? '/auth/account' : pagePath('sign-in', flow?.next)}>{text.back}</a>
      </p>
    </View>
  );
}

/** Asks before an account is linked, so that no link on another site can do it. The code works for a minute. */
function ConsentView({ code, flow, show }: ViewProps<CallbackView, 'consent'>) {
  const { provider, name, icon, codeVerifier } = flow;
  async function complete() {
    const path = `/auth/oidc/${encodeURIComponent(provider)}/link/complete`;
    try {
      await withRecentSignIn(() => requestAsUser('POST', path, { code, codeVerifier }));
    } catch (error) {
      if (error instanceof CancelledError) throw error;
      show(fail(error));
      return;
    }
    location.replace('/auth/account');
  }
  return (
    <View heading={text.linkHeading}>
      <p>{text.linkIntro(name)}</p>
      <Button kind="primary" run={complete}>
        <ProviderIcon name={name} icon={icon} />
        {text.linkSubmit}
      </Button>
      <p class="footer">
        <a href="/auth/account">{texts.cancel}</a>
      </p>
    </View>
  );
}

function openReturn(flow: Flow | undefined): CallbackView {
  const query = new URLSearchParams(location.search);
  history.replaceState(null, '', location.pathname);
  const error = query.get('error');
  const code = query.get('code');
  if (error !== null || code === null || flow === undefined) {
    const messages = new Map(Object.entries(text.errors));
    return { kind: 'failed', message: messages.get(error ?? 'sign_in_expired') ?? text.errors.other };
  }
  if (flow.purpose === 'link') return { kind: 'consent', code, flow };
  const { codeVerifier, next } = flow;
  return { kind: 'working', code, codeVerifier, next };
}

/** Return from a provider: the sign-in finishes, or the user confirms that an account is linked. */
export function Page() {
  const [flow] = useState(takeFlow);
  const [view, show] = useState(() => openReturn(flow));
  useStart(async () => {
    if (view.kind !== 'working') return;
    const { code, codeVerifier, next } = view;
    try {
      continueSignIn(await request<SignInResponse>('POST', '/auth/oidc/exchange', { code, codeVerifier }), next);
    } catch (error) {
      show(fail(error));
    }
  });
  switch (view.kind) {
    case 'working':
      return <View heading={text.heading} isWorking />;
    case 'consent':
      return <ConsentView {...view} show={show} />;
    case 'failed':
      return <FailedView message={view.message} flow={flow} />;
  }
}
