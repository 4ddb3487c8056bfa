import { BelfryProvider, useList, useSession } from '@belfry/client/react';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { client, useHash } from './client.ts';
import { Field, Form } from './form.tsx';
import { NewTicket, Ticket, TicketList } from './tickets.tsx';

const textOf = (values: FormData, name: string) => String(values.get(name));

function App() {
  const { user, isPending } = useSession(client);
  const hash = useHash();
  // The link of an invitation ends with `#token=…`.
  const invitation = /^token=(.+)/.exec(hash)?.[1];
  const query = { where: { user: user?.id }, include: ['organisation'], limit: 1 } as const;
  const memberships = useList(client.memberships, query, { enabled: user !== undefined });
  const { organisation, role } = memberships.data?.[0] ?? {};
  const [, page, id = ''] = hash.split('/');
  if (!isPending && user === undefined) return <SignIn isInvited={invitation !== undefined} />;
  if (!user || !memberships.data) return <p className="empty">{memberships.error?.message ?? 'Loading…'}</p>;
  if (invitation || typeof organisation !== 'object') return <Join token={invitation} onJoin={memberships.refetch} />;
  return (
    <div className={page ? 'desk open-page' : 'desk'}>
      <header className="row">
        <h1>
          <a href="#/" title={`Signed in as ${user.name}`} children={organisation.name} />
        </h1>
        <a href="#/new">New ticket</a>
        {role !== 'customer' && <a href="#/invite">Invite</a>}
        <button type="button" className="link" onClick={() => client.auth.signOut()} children="Sign out" />
      </header>
      <TicketList current={id} />
      <main>
        {!page && <p className="empty">Choose a ticket, or create one.</p>}
        {page === 'new' && <NewTicket organisation={organisation.id} />}
        {page === 'invite' && <Invite organisation={organisation.id} />}
        {page === 'tickets' && <Ticket key={id} id={id} userId={user.id} isAgent={role !== 'customer'} />}
      </main>
    </div>
  );
}

/** Signs the user in, with a new account if they have none. */
function SignIn({ isInvited }: { isInvited: boolean }) {
  const [isNew, setNew] = useState(isInvited);
  const autoComplete = isNew ? 'new-password' : 'current-password';
  function signIn(values: FormData) {
    const credentials = { email: textOf(values, 'email'), password: textOf(values, 'password') };
    if (!isNew) return client.auth.signIn(credentials);
    return client.auth.register({ ...credentials, name: textOf(values, 'name') });
  }
  return (
    <main className="card">
      <h1>Helpdesk</h1>
      {isInvited && <p>You are invited. Use the e-mail address that received the invitation.</p>}
      <Form submit={isNew ? 'Register' : 'Sign in'} run={signIn}>
        {isNew && <Field name="name" label="Name" autoComplete="name" />}
        <Field name="email" label="E-mail" type="email" autoComplete="email" />
        <Field name="password" label="Password" type="password" autoComplete={autoComplete} />
      </Form>
      <button type="button" className="link" onClick={() => setNew(!isNew)}>
        {isNew ? 'I have an account' : 'Create an account'}
      </button>
    </main>
  );
}

/** Joins the organisation of an invitation, or creates one. */
function Join({ token, onJoin }: { token: string | undefined; onJoin(): Promise<void> }) {
  async function join(values: FormData) {
    if (token) await client.auth.organisation.acceptInvitation({ token });
    else await client.request({ method: 'POST', path: '/organisations', json: { name: textOf(values, 'name') } });
    location.hash = '/';
    await onJoin();
  }
  return (
    <main className="card">
      <h1>Welcome</h1>
      <p>{token ? 'A company has invited you.' : 'Create a helpdesk, or ask your company to invite you.'}</p>
      <Form submit={token ? 'Join' : 'Create'} run={join}>
        {!token && <Field name="name" label="Company" autoComplete="organization" />}
      </Form>
      <button type="button" className="link" onClick={() => client.auth.signOut()} children="Sign out" />
    </main>
  );
}

/** Invites customers and agents. */
function Invite({ organisation }: { organisation: string }) {
  const [invited, setInvited] = useState('');
  async function invite(values: FormData) {
    const json = { email: textOf(values, 'email'), role: textOf(values, 'role') };
    await client.request({ method: 'POST', path: `/organisations/${organisation}/invitations`, json });
    setInvited(`${json.email} is invited.`);
  }
  return (
    <article>
      <h2>Invite</h2>
      <Form submit="Send the invitation" run={invite}>
        <Field name="email" label="E-mail" type="email" />
        <Field name="role" label="Role" options={{ customer: 'Customer', agent: 'Agent' }} />
      </Form>
      <p role="status">{invited}</p>
    </article>
  );
}

createRoot(document.getElementById('root')!).render(<BelfryProvider client={client} children={<App />} />);
