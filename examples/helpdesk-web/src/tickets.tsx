import { ApiError } from '@belfry/client';
import { useList, useMutation, useRecord } from '@belfry/client/react';
import { useEffect, useState } from 'react';
import { client, uploadAttachments } from './client.ts';
import { Field, Form } from './form.tsx';

const STATUSES = { all: 'All', open: 'Open', waiting: 'Waiting', closed: 'Closed' };
const ORDERS = { '-createdAt': 'Newest', createdAt: 'Oldest', '-updatedAt': 'Last changed', '-priority': 'Urgent' };
const PRIORITIES = { normal: 'Normal', low: 'Low', high: 'High', urgent: 'Urgent' };

const loadTicket = (id: string) => client.tickets.get(id, { include: ['requester'] });
type TicketRecord = Awaited<ReturnType<typeof loadTicket>>;

const formatTime = (time: string) => new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });

/** The name of an author. An erased account leaves none. */
const nameOf = (user: string | { name: string } | undefined) => (typeof user === 'object' ? user.name : 'Former user');

const Badge = ({ of }: { of: string }) => <span className={`badge ${of}`}>{of}</span>;

/** The tickets that the user sees. */
export function TicketList({ current }: { current: string }) {
  const [status, setStatus] = useState<keyof typeof STATUSES>('all');
  const [sort, setSort] = useState<keyof typeof ORDERS>('-createdAt');
  const [text, setText] = useState('');
  const [q, setQ] = useState('');
  useEffect(() => {
    const timer = setTimeout(setQ, 250, text.trim());
    return () => clearTimeout(timer);
  }, [text]);
  const where = status === 'all' ? {} : { status };
  const tickets = useList(client.tickets, { where, q: q || undefined, sort }, { live: true, keepPrevious: true });
  return (
    <nav aria-label="Tickets">
      <Field label="Search" type="search" onChange={({ target }) => setText(target.value)} />
      <div className="row">
        <Field label="Status" options={STATUSES} onChange={({ target }) => setStatus(target.value as typeof status)} />
        <Field label="Order" options={ORDERS} onChange={({ target }) => setSort(target.value as typeof sort)} />
      </div>
      {tickets.error && <p role="alert">{tickets.error.message}</p>}
      {tickets.liveStatus === 'reconnecting' && <p role="status">The connection is lost. Changes will appear later.</p>}
      {tickets.data?.length === 0 && <p className="empty">{q ? 'Nothing found.' : 'No tickets here.'}</p>}
      <ul>
        {tickets.data?.map((ticket) => (
          <li key={ticket.id}>
            <a href={`#/tickets/${ticket.id}`} aria-current={ticket.id === current && 'page'}>
              <strong>{ticket.title}</strong>
              <span className="row">
                <Badge of={ticket.status} />
                {ticket.priority !== 'normal' && <Badge of={ticket.priority} />}
                <small>{formatTime(ticket.createdAt)}</small>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {tickets.hasNextPage && <button type="button" onClick={tickets.fetchNextPage} children="Load more" />}
    </nav>
  );
}

/** Creates a ticket with attachments. */
export function NewTicket({ organisation }: { organisation: string }) {
  const { create } = useMutation(client.tickets);
  async function submit(values: FormData, reportProgress: (part: number) => void) {
    const attachments = await uploadAttachments(values, reportProgress);
    const [title, body] = [String(values.get('title')), String(values.get('body'))];
    const priority = values.get('priority') as TicketRecord['priority'];
    const { id } = await create({ organisation, title, body, priority, attachments });
    location.hash = `/tickets/${id}`;
  }
  return (
    <article>
      <h2>New ticket</h2>
      <Form submit="Create" run={submit}>
        <Field name="title" label="Title" />
        <Field name="body" label="What happened?" rows={6} />
        <Field name="priority" label="Priority" options={PRIORITIES} />
        <Field name="attachments" label="Attachments" type="file" multiple />
      </Form>
    </article>
  );
}

/** A ticket with its replies. */
export function Ticket({ id, userId, isAgent }: { id: string; userId: string; isAgent: boolean }) {
  const { data: ticket, error, isDeleted } = useRecord(client.tickets, id, { include: ['requester'] }, { live: true });
  const { update } = useMutation(client.tickets);
  const [isEditing, setEditing] = useState(false);
  if (isDeleted) return <p className="empty">This ticket was deleted.</p>;
  if (ticket === undefined) return <p className="empty">{error?.message ?? 'Loading…'}</p>;
  const isClosed = ticket.status === 'closed';
  const toggle = () => update(id, { status: isClosed ? 'open' : 'closed' }, { ifMatch: ticket });
  // Customers may not update tickets.
  const close = () => client.tickets.call('POST /:id/close', { params: { id } });
  return (
    <article>
      <h2>{ticket.title}</h2>
      <p className="row">
        <Badge of={ticket.status} />
        {ticket.priority !== 'normal' && <Badge of={ticket.priority} />}
        <small>{`${nameOf(ticket.requester)}, ${formatTime(ticket.createdAt)}`}</small>
      </p>
      <p className="text">{ticket.body}</p>
      {ticket.attachments?.map(({ id, name, url = '' }) => (
        <a key={id} href={new URL(url, client.url).href} target="_blank" rel="noreferrer" children={name} />
      ))}
      {(!isClosed || isAgent) && <Form submit={isClosed ? 'Reopen' : 'Close'} run={isAgent ? toggle : close} />}
      {isAgent && (
        <details open={isEditing} onToggle={({ currentTarget }) => setEditing(currentTarget.open)}>
          <summary>Edit</summary>
          {isEditing && <Editor opened={ticket} onSaved={() => setEditing(false)} />}
        </details>
      )}
      <Replies ticket={id} userId={userId} isAgent={isAgent} />
    </article>
  );
}

/** Changes a ticket, unless it has changed since the form was opened. */
function Editor({ opened, onSaved }: { opened: TicketRecord; onSaved(): void }) {
  const { update } = useMutation(client.tickets);
  const [base, setBase] = useState(opened);
  const { data: agents } = useList(client.memberships, { where: { role: ['owner', 'agent'] }, limit: 100 });
  async function save(values: FormData, reportProgress: (part: number) => void) {
    const attachments = [...(base.attachments ?? []), ...(await uploadAttachments(values, reportProgress))];
    const [title, assignee] = [String(values.get('title')), String(values.get('assignee')) || null];
    const priority = values.get('priority') as TicketRecord['priority'];
    try {
      await update(base.id, { title, priority, assignee, attachments }, { ifMatch: base });
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'PRECONDITION_FAILED')) throw error;
      setBase(await loadTicket(base.id));
      throw new Error('The ticket has changed meanwhile. Look at it above, and save again to keep your version.');
    }
    onSaved();
  }
  if (agents === undefined) return null;
  const names = Object.fromEntries(agents.map(({ id, user }) => [id, nameOf(user)]));
  return (
    <Form submit="Save" run={save}>
      <Field name="title" label="Title" defaultValue={opened.title} />
      <Field name="priority" label="Priority" options={PRIORITIES} defaultValue={opened.priority} />
      <Field name="assignee" label="Assignee" options={{ '': 'Nobody', ...names }} defaultValue={opened.assignee} />
      <Field name="attachments" label="Add attachments" type="file" multiple />
    </Form>
  );
}

function Replies({ ticket, userId, isAgent }: { ticket: string; userId: string; isAgent: boolean }) {
  const replies = useList(client.comments, { where: { ticket }, sort: '-createdAt' }, { live: true });
  const { create, creating } = useMutation(client.comments);
  const send = (values: FormData) =>
    create({ ticket, body: String(values.get('body')), internal: values.has('internal') });
  return (
    <section aria-label="Replies">
      {replies.error && <p role="alert">{replies.error.message}</p>}
      {replies.hasNextPage && <button type="button" onClick={replies.fetchNextPage} children="Earlier replies" />}
      <ol aria-live="polite">
        {replies.data?.toReversed().map(({ id, author, body, internal, createdAt }) => (
          <li key={id} data-own={typeof author === 'object' && author.id === userId} data-internal={internal}>
            <small>{`${nameOf(author)}, ${formatTime(createdAt)}${internal ? ', internal note' : ''}`}</small>
            <p className="text">{body}</p>
          </li>
        ))}
        {creating.map(({ body }, i) => (
          <li key={`creating ${i}`} data-own aria-busy>
            <small>Sending…</small>
            <p className="text">{body}</p>
          </li>
        ))}
      </ol>
      <Form submit="Reply" clearsAtOnce run={send}>
        <Field name="body" label="Your reply" rows={3} />
        {isAgent && <Field name="internal" label="Internal note" type="checkbox" />}
      </Form>
    </section>
  );
}
