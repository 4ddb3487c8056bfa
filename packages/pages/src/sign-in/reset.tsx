import { useState } from 'preact/hooks';
import { toRequestError } from '../kit/request.ts';
import { NewPasswordField } from './fields.tsx';
import { Form, type FormValues } from './form.tsx';
import { forgetLinkToken, forgetSession, pagePath, request, takeLinkToken } from './session.ts';
import { texts } from './texts.ts';
import { View, type ViewProps } from './view.tsx';

const { reset: text } = texts;

type ResetView = { kind: 'form'; token: string } | { kind: 'unusable'; problem: string } | { kind: 'done' };

function UnusableView({ problem }: { problem: string }) {
  return (
    <View heading={text.heading} problem={problem}>
      <p>
        <a href={pagePath('forgot')}>{text.requestLink}</a>
      </p>
    </View>
  );
}

function FormView({ token, show }: ViewProps<ResetView, 'form'>) {
  async function send({ password }: FormValues) {
    try {
      await request('POST', '/auth/password/reset', { token, password });
    } catch (error) {
      const { code, message } = toRequestError(error);
      if (code !== 'INVALID_TOKEN') throw error;
      forgetLinkToken();
      show({ kind: 'unusable', problem: message });
      return;
    }
    forgetLinkToken();
    forgetSession();
    show({ kind: 'done' });
  }
  return (
    <View heading={text.heading}>
      <Form submit={text.submit} send={send}>
        <NewPasswordField />
      </Form>
    </View>
  );
}

function DoneView() {
  return (
    <View heading={text.doneHeading}>
      <p>{text.done}</p>
      <p>
        <a href={pagePath('sign-in')}>{texts.signIn.submit}</a>
      </p>
    </View>
  );
}

function openLink(): ResetView {
  const token = takeLinkToken();
  return token === undefined ? { kind: 'unusable', problem: text.noToken } : { kind: 'form', token };
}

/** Choose a new password with the link of an e-mail. */
export function Page() {
  const [view, show] = useState(openLink);
  if (view.kind === 'form') return <FormView {...view} show={show} />;
  return view.kind === 'done' ? <DoneView /> : <UnusableView problem={view.problem} />;
}
