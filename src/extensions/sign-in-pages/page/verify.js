import { announce, button, element, link, paragraph, problemBox, showView } from './dom.js';
import { codeField, createForm } from './form.js';
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
} from './session.js';
import { texts } from './texts.js';

const { verify: text } = texts;

/** Confirms the address: with the session, or with the secret of a registration or login that waits for it. */
async function confirm(proof) {
  const verificationToken = readVerificationToken();
  const data =
    verificationToken === undefined
      ? await requestAsAnyone('POST', '/auth/email/verify', proof)
      : await request('POST', '/auth/email/verify', { ...proof, verificationToken });
  forgetLinkToken();
  if (data.emailVerifiedAt === undefined) {
    continueSignIn(data);
    return;
  }
  showDone(data.email);
}

function showDone(email) {
  const next = link(requestedPath() ?? config.afterSignIn, texts.continue);
  showView(text.doneHeading, paragraph(text.done(email)), element('p', {}, next));
}

/** Shows that the address is confirmed, if it is: a second click on the link is no problem for the user. Returns whether it is. */
async function showDoneIfVerified() {
  const user = readToken() === undefined ? undefined : await requestAsAnyone('GET', '/auth/me').catch(() => undefined);
  if (user?.emailVerifiedAt === undefined) return false;
  showDone(user.email);
  return true;
}

function showCode(problem) {
  const form = createForm({ fields: [codeField()], submit: text.submit, send: ({ code }) => confirm({ code }) });
  const sendAgain = button(text.again, async () => {
    const { message } = await requestAsUser('POST', '/auth/email/verification');
    announce(message);
    showCode();
  });
  // Without a session, signing in again sends a new e-mail.
  const again = readToken() === undefined ? element('p', {}, link(pagePath('sign-in'), text.again)) : sendAgain;
  showView(text.heading, problemBox(problem), paragraph(text.intro), form, again);
}

function showSignInFirst() {
  showView(
    text.heading,
    paragraph(text.signInFirst),
    element('p', {}, link(pagePath('sign-in', '/auth/verify'), texts.signIn.submit)),
  );
}

export async function showPage() {
  const token = takeLinkToken();
  if (readToken() === undefined && readVerificationToken() === undefined) {
    showSignInFirst();
    return;
  }
  if (token === undefined) {
    showCode();
    return;
  }
  showView(text.heading, paragraph(text.working));
  try {
    await confirm({ token });
  } catch (error) {
    if (error.status === 401) {
      showSignInFirst();
      return;
    }
    forgetLinkToken();
    if (error.code !== 'INVALID_TOKEN' || !(await showDoneIfVerified())) showCode(error.message);
  }
}
