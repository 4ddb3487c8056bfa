import { button, element, link, paragraph, problemBox, showView } from './dom.js';
import {
  config,
  forgetLinkToken,
  leave,
  offers,
  pagePath,
  readToken,
  request,
  requestAsAnyone,
  requestAsUser,
  takeLinkToken,
} from './session.js';
import { rememberEmail } from './sign-in.js';
import { texts } from './texts.js';

const { organisationInvitation: text } = texts;
const PATH = '/auth/organisation-invitation';

/** The links to sign in with the invited address, or to create its account, and to come back. */
const signInLinks = () => [
  element('p', {}, link(pagePath('sign-in', PATH), text.signIn)),
  offers('register')
    ? element('p.footer', {}, `${text.noAccount} `, link(pagePath('register', PATH), text.register))
    : undefined,
];

/** Only a session of the invited address can accept. */
function showSignIn({ organisation, email }, problem) {
  rememberEmail(email);
  const intro = paragraph(text.needsSignIn(email));
  showView(text.heading(organisation.name), problemBox(problem), intro, ...signInLinks());
}

function showAcceptance(token, invitation) {
  const { organisation, email, role } = invitation;

  async function accept() {
    try {
      await requestAsUser('POST', '/organisation-invitations/accept', { token });
    } catch (error) {
      if (error.code !== 'FORBIDDEN') throw error;
      // The session belongs to another account.
      showSignIn(invitation, error.message);
      return;
    }
    forgetLinkToken();
    leave();
  }

  showView(
    text.heading(organisation.name),
    paragraph(text.intro(email, role)),
    button(text.accept, accept, { kind: 'primary' }),
  );
}

/** Says why the link cannot be used, with a way on: to the app's pages, where members find their organisations. */
function showProblem(message) {
  showView(
    text.headingWithoutName,
    problemBox(message),
    paragraph(text.askAgain),
    element('p.footer', {}, link(config.afterSignIn, text.open)),
  );
}

/** The address of the account that is signed in; undefined if none is. */
const signedInEmail = async () =>
  readToken() === undefined ? undefined : (await requestAsAnyone('GET', '/auth/me').catch(() => undefined))?.email;

export async function showPage() {
  const token = takeLinkToken();
  if (token === undefined) {
    showProblem(text.noToken);
    return;
  }
  try {
    const invitation = await request('POST', '/organisation-invitations/preview', { token });
    const email = await signedInEmail();
    if (email === undefined) showSignIn(invitation);
    else if (email.toLowerCase() === invitation.email.toLowerCase()) showAcceptance(token, invitation);
    else showSignIn(invitation, text.otherAccount(email));
  } catch (error) {
    if (error.code === 'INVALID_TOKEN') forgetLinkToken();
    showProblem(error.message);
  }
}
