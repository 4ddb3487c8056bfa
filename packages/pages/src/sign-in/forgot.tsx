import { useState } from 'preact/hooks';
import { EmailField } from './fields.tsx';
import { Form } from './form.tsx';
import type { Message } from './responses.ts';
import { request } from './session.ts';
import { texts } from './texts.ts';
import { BackToSignIn, View } from './view.tsx';

const { forgot: text } = texts;

function SentView({ message }: { message: string }) {
  return (
    <View heading={text.sentHeading}>
      <p>{message}.</p>
      <BackToSignIn />
    </View>
  );
}

function RequestView({ onSent }: { onSent: (message: string) => void }) {
  return (
    <View heading={text.heading}>
      <p>{text.intro}</p>
      <Form
        submit={text.submit}
        send={async (values) => onSent((await request<Message>('POST', '/auth/password/forgot', values)).message)}
      >
        <EmailField />
      </Form>
      <BackToSignIn />
    </View>
  );
}

/** Request a link to choose a new password. */
export function Page() {
  const [message, setMessage] = useState<string>();
  return message === undefined ? <RequestView onSent={setMessage} /> : <SentView message={message} />;
}
