import { button, element, link, paragraph, problemBox, showView } from './dom.js';
import { createForm } from './form.js';
import { registrationFields } from './register.js';
import {
  continueSignIn,
  forgetLinkToken,
  pagePath,
  readToken,
  request,
  requestAsAnyone,
  takeLinkToken,
} from './session.js';
import { texts } from './texts.js';

const { invitation: text } = texts;

async function accept(token, values = {}, send = request) {
  const data = await send('POST', '/auth/invitations/accept', { token, ...values });
  forgetLinkToken();
  continueSignIn(data);
}

function showRegistration(token, email) {
  const form = createForm({
    fields: registrationFields(),
    submit: text.submit,
    send: (values) => accept(token, values),
  });
  showView(text.heading, paragraph(text.intro(email)), form);
}

/** Shown if the address has an account that was never verified. */
function showTakeOver(token) {
  showView(
    text.heading,
    paragraph(text.takeOver),
    button(text.accept, () => accept(token), { kind: 'primary' }),
  );
}

function showAcceptance(token, email) {
  const signIn = element('p', {}, link(pagePath('sign-in', '/auth/invitation'), text.signIn));
  if (readToken() === undefined) {
    showView(text.heading, paragraph(text.hasAccount(email)), signIn);
    return;
  }
  async function acceptSignedIn() {
    try {
      await accept(token, {}, requestAsAnyone);
    } catch (error) {
      if (error.code !== 'CONFLICT') throw error;
      // The session belongs to another account, or has ended.
      showView(text.heading, problemBox(error.message), paragraph(text.hasAccount(email)), signIn);
    }
  }
  showView(text.heading, paragraph(text.acceptIntro(email)), button(text.accept, acceptSignedIn, { kind: 'primary' }));
}

export async function showPage() {
  const token = takeLinkToken();
  if (token === undefined) {
    showView(text.heading, problemBox(text.noToken));
    return;
  }
  try {
    const { email, mode } = await request('POST', '/auth/invitations/preview', { token });
    if (mode === 'sign-in') showAcceptance(token, email);
    else if (mode === 'claim') showTakeOver(token);
    else showRegistration(token, email);
  } catch (error) {
    if (error.code === 'INVALID_TOKEN') forgetLinkToken();
    showView(text.heading, problemBox(error.message));
  }
}
