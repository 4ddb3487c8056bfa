import { useState } from 'preact/hooks';
import { toRequestError } from '../kit/request.ts';
import { needsSecondFactor, withRecentSignIn } from './confirm.tsx';
import { CodeField, EmailField, SecondFactorField } from './fields.tsx';
import { Form, type FormValues } from './form.tsx';
import type { Message, User, VerifiedEmail } from './responses.ts';
import { forgetLinkToken, requestAsUser, takeLinkToken } from './session.ts';
import { useStart } from './start.ts';
import { texts } from './texts.ts';
import { View, type ViewProps } from './view.tsx';

const { changeEmail: text } = texts;

type ChangeView =
  | { kind: 'loading' }
  | { kind: 'working' }
  | { kind: 'request'; email: string; needsCode: boolean; problem: string | undefined }
  | { kind: 'code'; intro: string }
  | { kind: 'done'; email: string };

async function confirm(proof: { token: string } | FormValues): Promise<ChangeView> {
  const { email } = await requestAsUser<VerifiedEmail>('POST', '/auth/email/confirm', proof);
  forgetLinkToken();
  return { kind: 'done', email };
}

async function openRequest(problem?: string): Promise<ChangeView> {
  const { email } = await requestAsUser<User>('GET', '/auth/me');
  return { kind: 'request', email, needsCode: await needsSecondFactor(), problem };
}

function BackToAccount() {
  return (
    <p class="footer">
      <a href="/auth/account">{text.back}</a>
    </p>
  );
}

function RequestView({ email, needsCode, problem, show }: ViewProps<ChangeView, 'request'>) {
  async function send(values: FormValues) {
    const { message } = await withRecentSignIn(() => requestAsUser<Message>('POST', '/auth/email', values));
    show({ kind: 'code', intro: `${message}. ${text.codeIntro}` });
  }
  return (
    <View heading={text.heading} problem={problem}>
      <p>{text.intro(email)}</p>
      <Form submit={text.submit} send={send}>
        <EmailField label={texts.fields.newEmail} autocomplete="email" />
        {needsCode && <SecondFactorField />}
      </Form>
      <BackToAccount />
    </View>
  );
}

function CodeView({ intro, show }: ViewProps<ChangeView, 'code'>) {
  return (
    <View heading={text.codeHeading}>
      <p>{intro}</p>
      <Form submit={text.codeSubmit} send={async ({ code }) => show(await confirm({ code }))}>
        <CodeField />
      </Form>
      <BackToAccount />
    </View>
  );
}

function DoneView({ email }: { email: string }) {
  return (
    <View heading={text.doneHeading}>
      <p>{text.done(email)}</p>
      <BackToAccount />
    </View>
  );
}

/** Change the address of the account, with the link or the code of an e-mail to the new address. */
export function Page() {
  const [token] = useState(takeLinkToken);
  const [view, show] = useState<ChangeView>({ kind: token === undefined ? 'loading' : 'working' });
  useStart(async () => {
    const opened =
      token === undefined
        ? openRequest()
        : confirm({ token }).catch((error: unknown) => {
            forgetLinkToken();
            return openRequest(toRequestError(error).message);
          });
    show(await opened);
  });
  switch (view.kind) {
    case 'loading':
      return null;
    case 'working':
      return (
        <View heading={text.heading} isWorking>
          <p>{text.working}</p>
        </View>
      );
    case 'request':
      return <RequestView {...view} show={show} />;
    case 'code':
      return <CodeView {...view} show={show} />;
    case 'done':
      return <DoneView email={view.email} />;
  }
}
