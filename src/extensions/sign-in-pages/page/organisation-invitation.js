import { button, element, link, paragraph, problemBox, showView } from './dom.js';
import {
  forgetLinkToken,
  leave,
  offers,
  pagePath,
  readToken,
  request,
  requestAsUser,
  takeLinkToken,
} from './session.js';
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
  const intro = paragraph(text.needsSignIn(email));
  showView(text.heading(organisation.name), ...(problem ? [problemBox(problem)] : []), intro, ...signInLinks());
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

export async function showPage() {
  const token = takeLinkToken();
  if (token === undefined) {
    showView(text.headingWithoutName, problemBox(text.noToken));
    return;
  }
  try {
    const invitation = await request('POST', '/organisation-invitations/preview', { token });
    if (readToken() === undefined) showSignIn(invitation);
    else showAcceptance(token, invitation);
  } catch (error) {
    if (error.code === 'INVALID_TOKEN') forgetLinkToken();
    showView(text.headingWithoutName, problemBox(error.message));
  }
}
