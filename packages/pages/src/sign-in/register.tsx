import { EmailField, RegistrationFields } from './fields.tsx';
import { Form } from './form.tsx';
import type { SignInResponse } from './responses.ts';
import { continueSignIn, knownEmail, pagePath, request } from './session.ts';
import { texts } from './texts.ts';
import { View } from './view.tsx';

const { register: text } = texts;

/** Create an account. */
export function Page() {
  return (
    <View heading={text.heading}>
      <Form
        submit={text.submit}
        send={async (values) => continueSignIn(await request<SignInResponse>('POST', '/auth/register', values))}
      >
        <RegistrationFields>
          <EmailField value={knownEmail()} />
        </RegistrationFields>
      </Form>
      <p class="footer">
        {text.hasAccount} <a href={pagePath('sign-in')}>{text.signIn}</a>
      </p>
    </View>
  );
}
