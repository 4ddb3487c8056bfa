import { useState } from 'preact/hooks';
import { forgetLinkToken, forgetSession, pagePath, request, takeLinkToken } from './session.ts';
import { texts } from './texts.ts';
import { Button, View } from './view.tsx';

const { undo: text } = texts;

function UndoView({ token, onDone }: { token: string; onDone: () => void }) {
  async function undo() {
    await request('POST', '/auth/email/undo', { token });
    forgetLinkToken();
    forgetSession();
    onDone();
  }
  return (
    <View heading={text.heading}>
      <p>{text.intro}</p>
      <Button kind="primary" run={undo}>
        {text.submit}
      </Button>
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

/** Undo a change of the address, with a button: opening the link alone does nothing. */
export function Page() {
  const [token] = useState(takeLinkToken);
  const [isDone, setDone] = useState(false);
  if (token === undefined) return <View heading={text.heading} problem={text.noToken} />;
  return isDone ? <DoneView /> : <UndoView token={token} onDone={() => setDone(true)} />;
}
