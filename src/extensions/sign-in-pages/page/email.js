import { button, element, link, paragraph, problemBox, showView } from './dom.js';
import { codeField, createForm, emailField } from './form.js';
import {
  continueSignIn,
  forgetLinkToken,
  pagePath,
  readStored,
  request,
  requestedPath,
  takeLinkToken,
} from './session.js';
import { knownEmail } from './sign-in.js';
import { texts } from './texts.js';

const { email: text } = texts;

/** The key in localStorage of the request, because the link opens in a new tab. */
const REQUEST_KEY = 'belfry.emailSignIn';

const readRequest = () => readStored(localStorage, REQUEST_KEY);

/** Finishes the sign-in with the link's token or the code. */
async function finish({ signInToken, next }, proof) {
  const data = await request('POST', '/auth/email-sign-in/verify', { signInToken, ...proof });
  localStorage.removeItem(REQUEST_KEY);
  continueSignIn(data, next ?? requestedPath());
}

const backToSignIn = () => element('p.footer', {}, link(pagePath('sign-in'), texts.forgot.back));

function showRequest(problem) {
  async function send({ email }) {
    const { signInToken } = await request('POST', '/auth/email-sign-in', { email });
    const started = { signInToken, email, next: requestedPath() };
    localStorage.setItem(REQUEST_KEY, JSON.stringify(started));
    showCode(started);
  }
  const form = createForm({ fields: [emailField({ value: knownEmail() })], submit: text.submit, send });
  showView(text.heading, problemBox(problem), paragraph(text.intro), form, backToSignIn());
}

function showCode(started) {
  const form = createForm({
    fields: [codeField()],
    submit: text.codeSubmit,
    send: ({ code }) => finish(started, { code }),
  });
  const startAgain = button(text.again, () => {
    localStorage.removeItem(REQUEST_KEY);
    showRequest();
  });
  showView(text.codeHeading, paragraph(text.codeIntro(started.email)), form, startAgain, backToSignIn());
}

export async function showPage() {
  const token = takeLinkToken();
  const started = readRequest();
  if (token === undefined) {
    if (started === undefined) showRequest();
    else showCode(started);
    return;
  }
  forgetLinkToken();
  if (started === undefined) {
    showRequest(text.otherBrowser);
    return;
  }
  showView(text.heading, paragraph(text.working));
  try {
    await finish(started, { token });
  } catch (error) {
    showRequest(error.message);
  }
}
