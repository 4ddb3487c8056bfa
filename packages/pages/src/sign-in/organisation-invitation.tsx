import { toRequestError } from '../kit/request.ts';
import type { OrganisationInvitation, User } from './responses.ts';
import {
  config,
  forgetLinkToken,
  leave,
  offers,
  pagePath,
  readToken,
  rememberEmail,
  request,
  requestAsAnyone,
  requestAsUser,
} from './session.ts';
import { useLink } from './start.ts';
import { texts } from './texts.ts';
import { Button, View, type ViewProps } from './view.tsx';

const { organisationInvitation: text } = texts;
const PATH = '/auth/organisation-invitation';

type InvitationView =
  | { kind: 'accept'; token: string; invitation: OrganisationInvitation }
  | { kind: 'signIn'; invitation: OrganisationInvitation; problem: string | undefined };

/** Says why the link cannot be used, with a way on: to the app's pages, where members find their organisations. */
function UnusableView({ problem }: { problem: string }) {
  return (
    <View heading={text.headingWithoutName} problem={problem}>
      <p>{text.askAgain}</p>
      <p class="footer">
        <a href={config.afterSignIn}>{text.open}</a>
      </p>
    </View>
  );
}

/** Only a session of the invited address can accept: the user signs in with it, or creates its account, and comes back. */
function SignInView({ invitation: { organisation, email }, problem }: ViewProps<InvitationView, 'signIn'>) {
  return (
    <View heading={text.heading(organisation.name)} problem={problem}>
      <p>{text.needsSignIn(email)}</p>
      <p>
        <a href={pagePath('sign-in', PATH)}>{text.signIn}</a>
      </p>
      {offers('register') && (
        <p class="footer">
          {text.noAccount} <a href={pagePath('register', PATH)}>{text.register}</a>
        </p>
      )}
    </View>
  );
}

function AcceptView({ token, invitation, show }: ViewProps<InvitationView, 'accept'>) {
  const { organisation, email, role } = invitation;
  async function accept() {
    try {
      await requestAsUser('POST', '/organisation-invitations/accept', { token });
    } catch (error) {
      const { code, message } = toRequestError(error);
      if (code !== 'FORBIDDEN') throw error;
      // The session belongs to another account.
      show(askToSignIn(invitation, message));
      return;
    }
    forgetLinkToken();
    leave();
  }
  return (
    <View heading={text.heading(organisation.name)}>
      <p>{text.intro(email, role)}</p>
      <Button kind="primary" run={accept}>
        {text.accept}
      </Button>
    </View>
  );
}

function askToSignIn(invitation: OrganisationInvitation, problem?: string): InvitationView {
  rememberEmail(invitation.email);
  return { kind: 'signIn', invitation, problem };
}

/** The address of the account that is signed in; undefined if none is. */
async function findSignedInEmail(): Promise<string | undefined> {
  if (readToken() === undefined) return undefined;
  return (await requestAsAnyone<User>('GET', '/auth/me').catch(() => undefined))?.email;
}

async function openLink(token: string): Promise<InvitationView> {
  const invitation = await request<OrganisationInvitation>('POST', '/organisation-invitations/preview', { token });
  const email = await findSignedInEmail();
  if (email === undefined) return askToSignIn(invitation);
  if (email.toLowerCase() === invitation.email.toLowerCase()) return { kind: 'accept', token, invitation };
  return askToSignIn(invitation, text.otherAccount(email));
}

/** Accept an invitation to an organisation, with the account of the invited address. */
export function Page() {
  const [view, show] = useLink<InvitationView>(text.noToken, openLink);
  switch (view.kind) {
    case 'loading':
      return null;
    case 'unusable':
      return <UnusableView problem={view.problem} />;
    case 'accept':
      return <AcceptView {...view} show={show} />;
    case 'signIn':
      return <SignInView {...view} show={show} />;
  }
}
