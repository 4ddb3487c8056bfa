import { toRequestError } from '../kit/request.ts';
import { RegistrationFields } from './fields.tsx';
import { Form } from './form.tsx';
import type { InvitationPreview, SignInResponse } from './responses.ts';
import { continueSignIn, forgetLinkToken, pagePath, readToken, request, requestAsAnyone } from './session.ts';
import { useLink } from './start.ts';
import { texts } from './texts.ts';
import { Button, View, type ViewProps } from './view.tsx';

const { invitation: text } = texts;

type InvitationView =
  | { kind: 'register'; token: string; email: string }
  | { kind: 'takeOver'; token: string }
  | { kind: 'accept'; token: string; email: string }
  | { kind: 'signIn'; email: string; problem?: string };

async function accept(token: string, values: object = {}, send = request<SignInResponse>): Promise<void> {
  const data = await send('POST', '/auth/invitations/accept', { token, ...values });
  forgetLinkToken();
  continueSignIn(data);
}

function RegisterView({ token, email }: ViewProps<InvitationView, 'register'>) {
  return (
    <View heading={text.heading}>
      <p>{text.intro(email)}</p>
      <Form submit={text.submit} send={(values) => accept(token, values)}>
        <RegistrationFields />
      </Form>
    </View>
  );
}

/** Shown if the address has an account that was never verified. */
function TakeOverView({ token }: { token: string }) {
  return (
    <View heading={text.heading}>
      <p>{text.takeOver}</p>
      <Button kind="primary" run={() => accept(token)}>
        {text.accept}
      </Button>
    </View>
  );
}

function AcceptView({ token, email, show }: ViewProps<InvitationView, 'accept'>) {
  async function acceptSignedIn() {
    try {
      await accept(token, {}, requestAsAnyone<SignInResponse>);
    } catch (error) {
      const { code, message } = toRequestError(error);
      if (code !== 'CONFLICT') throw error;
      // The session belongs to another account, or has ended.
      show({ kind: 'signIn', email, problem: message });
    }
  }
  return (
    <View heading={text.heading}>
      <p>{text.acceptIntro(email)}</p>
      <Button kind="primary" run={acceptSignedIn}>
        {text.accept}
      </Button>
    </View>
  );
}

function SignInView({ email, problem }: ViewProps<InvitationView, 'signIn'>) {
  return (
    <View heading={text.heading} problem={problem}>
      <p>{text.hasAccount(email)}</p>
      <p>
        <a href={pagePath('sign-in', '/auth/invitation')}>{text.signIn}</a>
      </p>
    </View>
  );
}

async function openLink(token: string): Promise<InvitationView> {
  const { email, mode } = await request<InvitationPreview>('POST', '/auth/invitations/preview', { token });
  if (mode === 'claim') return { kind: 'takeOver', token };
  if (mode !== 'sign-in') return { kind: 'register', token, email };
  return readToken() === undefined ? { kind: 'signIn', email } : { kind: 'accept', token, email };
}

/** Accept an invitation to the app: with a new account, or with that of the invited address. */
export function Page() {
  const [view, show] = useLink<InvitationView>(text.noToken, openLink);
  switch (view.kind) {
    case 'loading':
      return null;
    case 'unusable':
      return <View heading={text.heading} problem={view.problem} />;
    case 'register':
      return <RegisterView {...view} show={show} />;
    case 'takeOver':
      return <TakeOverView token={view.token} />;
    case 'accept':
      return <AcceptView {...view} show={show} />;
    case 'signIn':
      return <SignInView {...view} show={show} />;
  }
}
