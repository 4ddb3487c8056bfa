import { button, element, link, paragraph, showView } from './dom.js';
import { codeField, createForm } from './form.js';
import { finishWithPasskey } from './passkeys.js';
import { continueSignIn, forgetChallenge, pagePath, readChallenge, request } from './session.js';
import { texts } from './texts.js';

const { twoFactor: text } = texts;

const signInAgain = () => element('p.footer', {}, link(pagePath('sign-in'), texts.forgot.back));

function showExpired(message = text.expired) {
  forgetChallenge();
  showView(text.expiredHeading, paragraph(message), element('p', {}, link(pagePath('sign-in'), text.signIn)));
}

function showCode({ mfaToken, methods }, method) {
  const isRecovery = method === 'recovery';

  async function send({ code }) {
    try {
      continueSignIn(await request('POST', '/auth/2fa/verify', { mfaToken, method, code }));
    } catch (error) {
      // A 401 that does not name the code says that the sign-in itself is over.
      if (error.status !== 401 || error.details.code !== undefined) throw error;
      showExpired(error.message);
    }
  }

  const field = isRecovery
    ? codeField({ label: texts.fields.recoveryCode, autocomplete: 'off', inputmode: 'text' })
    : codeField();
  const other = isRecovery ? 'totp' : 'recovery';
  const switchText = isRecovery ? text.useApp : text.useRecovery;
  const showOther = button(switchText, () => showCode({ mfaToken, methods }, other));
  showView(
    isRecovery ? text.recoveryHeading : text.heading,
    paragraph(isRecovery ? text.recoveryIntro : text.intro),
    createForm({ fields: [field], submit: text.submit, send }),
    methods.includes(other) ? showOther : undefined,
    signInAgain(),
  );
}

function showPasskey(challenge) {
  async function usePasskey() {
    try {
      continueSignIn(await finishWithPasskey(challenge));
    } catch (error) {
      if (error.status !== 401) throw error;
      // Each challenge can be answered once.
      showExpired(error.message);
    }
  }
  const use = button(text.passkey, usePasskey, { kind: 'primary' });
  showView(text.passkeyHeading, paragraph(text.passkeyIntro), use, signInAgain());
}

export function showPage() {
  const challenge = readChallenge();
  if (challenge === undefined || Date.parse(challenge.expiresAt) < Date.now()) showExpired();
  else if (challenge.methods.includes('passkey')) showPasskey(challenge);
  else showCode(challenge, challenge.methods[0]);
}
