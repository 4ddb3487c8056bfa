import { createTestApp } from 'belfry/testing';
import { beforeAll, expect, test } from 'vitest';
import { app as helpdesk } from './src/app.ts';

const { app, clock, mails, receiveWebhooks, settle, signInAs, url, waitForMail } = await createTestApp(helpdesk);
type User = Awaited<ReturnType<typeof signInAs>>;

/** A company with an owner, an agent and two customers. */
interface Company {
  id: string;
  slug: string;
  owner: User;
  agent: User;
  /** The membership of the agent. */
  agentship: string;
  customer: User;
  neighbour: User;
}

async function createCompany(name: string): Promise<Company> {
  const [owner, agent, customer, neighbour] = [
    await signInAs({ name: `${name} owner` }),
    await signInAs({ name: `${name} agent` }),
    await signInAs({ name: `${name} customer` }),
    await signInAs({ name: `${name} neighbour` }),
  ];
  const { id, slug } = (await owner.api.post('/api/organisations', { name })).body.data;
  const { id: agentship } = await app.organisations.addMember(id, agent.id, 'agent');
  for (const user of [customer, neighbour]) await app.organisations.addMember(id, user.id);
  return { id, slug, owner, agent, agentship, customer, neighbour };
}

let [acme, bolt] = [] as unknown as [Company, Company];
beforeAll(async () => {
  [acme, bolt] = [await createCompany('Acme'), await createCompany('Bolt')];
});

/** Creates a record through the API, and returns it. */
async function post(user: User, path: string, body: object) {
  const response = await user.api.post(path, body);
  expect(response, JSON.stringify(response.body)).toMatchObject({ status: 201 });
  return response.body.data;
}

const openTicket = (user: User, title = 'No sound', rest: object = {}) =>
  post(user, '/api/tickets', { title, body: 'The bell is silent.', ...rest });
const titlesOf = async (user: User, query = '') =>
  (await user.api.get(`/api/tickets${query}`)).body.data.map(({ title }: { title: string }) => title);

test('a customer sees their own tickets, and an agent those of all customers of the organisation', async () => {
  const { id } = await openTicket(acme.customer, 'Own');
  expect(await titlesOf(acme.customer)).toEqual(['Own']);
  expect(await titlesOf(acme.neighbour)).toEqual([]);
  expect((await acme.neighbour.api.get(`/api/tickets/${id}`)).status).toBe(404);
  expect(await titlesOf(acme.agent)).toContain('Own');
  expect((await acme.customer.api.patch(`/api/tickets/${id}`, { priority: 'urgent' })).status).toBe(403);
  expect((await acme.agent.api.patch(`/api/tickets/${id}`, { assignee: acme.agentship })).status).toBe(200);
  const assigned = await acme.customer.api.post('/api/tickets', { title: 'x', body: 'x', assignee: acme.agentship });
  expect(assigned).toMatchObject({ status: 403, body: { error: { message: 'Only agents can assign tickets' } } });
});

test('members of another organisation find no record, by no route, filter or reference', async () => {
  const tag = await post(acme.agent, '/api/tags', { name: 'secret-project' });
  const { id } = await openTicket(acme.customer, 'Only for Acme', { tags: [tag.id] });
  for (const stranger of [bolt.owner, bolt.agent, bolt.customer]) {
    expect((await stranger.api.get(`/api/tickets/${id}`)).status).toBe(404);
    expect(await titlesOf(stranger, '?q=Acme')).toEqual([]);
    expect(await titlesOf(stranger, '?tags.name=secret-project')).toEqual([]);
    expect((await stranger.api.get('/api/tickets', { headers: { 'x-organisation': acme.slug } })).status).toBe(404);
    const reply = await stranger.api.post('/api/comments', { ticket: id, body: 'Hello' });
    expect(reply).toMatchObject({ status: 422, body: { error: { details: { ticket: 'No such ticket' } } } });
  }
  // The names of tags are unique within an organisation only.
  await post(bolt.agent, '/api/tags', { name: 'secret-project' });
  expect((await acme.agent.api.post('/api/tags', { name: 'secret-project' })).status).toBe(409);
});

test('customers see replies but no internal notes, in lists, includes, counts and filters', async () => {
  const { customer, agent } = acme;
  const ticket = await openTicket(customer, 'With notes');
  await post(agent, '/api/comments', { ticket: ticket.id, body: 'Have you tried a hammer?' });
  const note = await post(agent, '/api/comments', { ticket: ticket.id, body: 'Third time', internal: true });
  await post(customer, '/api/comments', { ticket: ticket.id, body: 'Yes' });

  const path = `/api/tickets/${ticket.id}?include=comments,commentsCount`;
  const [seen, all] = [(await customer.api.get(path)).body.data, (await agent.api.get(path)).body.data];
  expect(seen.comments.data.map(({ body }: { body: string }) => body)).toEqual(['Yes', 'Have you tried a hammer?']);
  expect([seen.commentsCount, all.commentsCount, all.comments.data.length]).toEqual([2, 3, 3]);
  expect((await customer.api.get(`/api/comments/${note.id}`)).status).toBe(404);
  expect((await customer.api.get('/api/comments?q=Third')).body.meta.total).toBe(0);
  expect(await titlesOf(customer, '?comments.internal=true')).toEqual([]);
  expect(await titlesOf(agent, '?comments.internal=true')).toEqual(['With notes']);
  const own = await customer.api.post('/api/comments', { ticket: ticket.id, body: 'x', internal: true });
  expect(own).toMatchObject({ status: 403, body: { error: { message: 'Only agents can write internal notes' } } });
});

test('an attachment is uploaded, and read through a signed URL that only those get who see the ticket', async () => {
  const upload = await fetch(`${url}/api/files/uploads?field=ticket.attachments`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${acme.customer.token}`,
      'content-type': 'text/plain',
      'content-disposition': 'attachment; filename="log.txt"',
    },
    body: 'ding dong',
  });
  expect(upload.status).toBe(201);
  const { data } = (await upload.json()) as { data: { id: string } };
  const { id } = await openTicket(acme.customer, 'With a file', { attachments: [data.id] });

  const [attachment] = (await acme.agent.api.get(`/api/tickets/${id}`)).body.data.attachments;
  expect(attachment).toMatchObject({ name: 'log.txt', type: 'text/plain', bytes: 9 });
  const signed = new URL(attachment.url, url);
  expect(await (await fetch(signed)).text()).toBe('ding dong');
  signed.search = '';
  expect((await fetch(signed)).ok).toBe(false);
  expect((await acme.neighbour.api.get(`/api/tickets/${id}`)).status).toBe(404);
});

test('a reply of an agent and its e-mail are committed together, or not at all', async () => {
  const { agent, customer } = acme;
  const { id } = await openTicket(customer, 'Answer me');
  const values = { organisation: acme.id, ticket: id, body: 'Never sent' };
  const failing = app.transaction(async (tx) => {
    await tx.service('comment').create(values, { user: agent.user });
    throw new Error('the transaction fails');
  });
  await expect(failing).rejects.toThrow('the transaction fails');
  await settle();
  expect((await mails()).filter(({ subject }) => subject === 'New reply: Answer me')).toEqual([]);
  expect((await customer.api.get(`/api/tickets/${id}`)).body.data.status).toBe('open');

  const reply = await post(agent, '/api/canned-replies', { title: 'Hammer', body: 'Use a hammer.' });
  expect((await agent.api.post(`/api/canned-replies/${reply.id}/send`, { ticket: id })).status).toBe(201);
  await waitForMail({ to: customer.email, subject: 'New reply: Answer me' });
  expect((await customer.api.get(`/api/tickets/${id}`)).body.data.status).toBe('waiting');
});

test('the schedule closes tickets that have waited for their customer for two weeks, and tells the customer', async () => {
  const { agent, customer } = bolt;
  const [stale, answered] = [await openTicket(customer, 'Stale'), await openTicket(customer, 'Answered')];
  for (const { id } of [stale, answered]) await post(agent, '/api/comments', { ticket: id, body: 'Which bell?' });
  await post(customer, '/api/comments', { ticket: answered.id, body: 'The big one' });
  await clock.advance('15d');
  const mail = await waitForMail({ to: customer.email, subject: 'Closed: Stale' });
  expect(mail.text).toContain('We have closed your ticket.');
  const statusOf = async (id: string) => (await app.service('ticket').read(id)).status;
  expect([await statusOf(stale.id), await statusOf(answered.id)]).toEqual(['closed', 'open']);
  await clock.reset();
});

test('the dashboard counts the tickets of the current organisation by status and priority', async () => {
  const company = await createCompany('Dash');
  await openTicket(company.customer, 'One');
  await openTicket(company.customer, 'Two', { priority: 'urgent' });
  const { id } = await openTicket(company.neighbour, 'Three', { priority: 'urgent' });
  await company.neighbour.api.post(`/api/tickets/${id}/close`);
  const path = '/api/tickets/aggregate?group=status,priority&count&sort=-count,status,priority';
  const { body } = await company.agent.api.get(path);
  expect(body.data).toEqual([
    { group: { status: 'closed', priority: 'urgent' }, count: 1 },
    { group: { status: 'open', priority: 'normal' }, count: 1 },
    { group: { status: 'open', priority: 'urgent' }, count: 1 },
  ]);
  // A customer counts their own tickets.
  expect((await company.neighbour.api.get('/api/tickets/aggregate')).body.data).toEqual([{ group: {}, count: 1 }]);
});

test('webhooks and API keys reach what their owner sees', async () => {
  const { agent, customer, neighbour } = acme;
  const [toAgent, toNeighbour] = [
    await receiveWebhooks(agent, ['ticket.*', 'comment.*']),
    await receiveWebhooks(neighbour, ['ticket.*', 'comment.*']),
  ];
  const { id } = await openTicket(customer, 'For the hooks');
  await openTicket(bolt.customer, 'Of the other organisation');
  expect((await toAgent.next('ticket.created')).data).toMatchObject({ id, title: 'For the hooks' });
  await settle();
  expect(toAgent.events).toHaveLength(1);
  expect(toNeighbour.events).toHaveLength(0);

  const scopes = ['tickets:read'];
  const { key } = await post(customer, '/api/auth/api-keys', { name: 'export', scopes });
  const headers = { authorization: `Bearer ${key}` };
  const list = (await (await fetch(`${url}/api/tickets`, { headers })).json()) as { data: { requester: string }[] };
  expect(new Set(list.data.map(({ requester }) => requester))).toEqual(new Set([customer.id]));
  expect((await fetch(`${url}/api/tickets/${id}/close`, { method: 'POST', headers })).status).toBe(403);
});

test('a deleted ticket takes its comments along, is restored with them, and stays in the audit trail', async () => {
  const { agent, customer } = acme;
  const { id } = await openTicket(customer, 'Deleted');
  const comment = await post(agent, '/api/comments', { ticket: id, body: 'Gone' });
  expect((await agent.api.delete(`/api/tickets/${id}`)).status).toBe(204);
  expect((await agent.api.get(`/api/comments/${comment.id}`)).status).toBe(404);
  expect((await agent.api.post(`/api/tickets/${id}/restore`)).status).toBe(200);
  expect((await agent.api.get(`/api/comments/${comment.id}`)).status).toBe(200);
  expect((await customer.api.get(`/api/tickets/${id}?include=commentsCount`)).body.data.commentsCount).toBe(1);

  // The trail is for admins of the app. Entries of organisations are for those who are members.
  const [admin, stranger] = [await signInAs({ roles: ['admin'] }), await signInAs({ roles: ['admin'] })];
  await app.organisations.addMember(acme.id, admin.id, 'agent');
  await settle();
  const trailOf = async ({ api }: User) => (await api.get(`/api/admin/audit?resource=ticket&record=${id}`)).body.data;
  const trail = await trailOf(admin);
  // Newest first. The reply of the agent has updated the status.
  expect(trail.map(({ action }: { action: string }) => action)).toEqual(['restored', 'deleted', 'updated', 'created']);
  expect(trail[2]).toMatchObject({ user: agent.id, changes: { status: { from: 'open', to: 'waiting' } } });
  expect(await trailOf(stranger)).toEqual([]);
});

test('streams send changes to those who see the record', async () => {
  const { customer, agent } = acme;
  const stream = await fetch(`${url}/api/realtime?subscribe=comment`, {
    headers: { authorization: `Bearer ${customer.token}` },
  });
  const chunks = stream.body!.pipeThrough(new TextDecoderStream()).values();
  let text = '';
  const readUntil = async (wanted: string) => {
    while (!text.includes(wanted)) text += (await chunks.next()).value ?? '';
  };
  // Changes are sent once the stream is ready.
  await readUntil('event: ready');
  const { id } = await openTicket(customer, 'Streamed');
  await post(agent, '/api/comments', { ticket: id, body: 'A note', internal: true });
  await post(agent, '/api/comments', { ticket: id, body: 'A reply' });
  await readUntil('A reply');
  await chunks.return?.();
  expect(text).toContain('event: comment.created');
  expect(text).not.toContain('A note');
});

test('an erasure removes the tickets of a customer, and keeps the replies of an agent without the author', async () => {
  const company = await createCompany('Erasing');
  const [ticket, other] = [await openTicket(company.customer, 'Erased'), await openTicket(company.neighbour, 'Kept')];
  const reply = await post(company.agent, '/api/comments', { ticket: other.id, body: 'A reply' });
  const admin = await signInAs({ roles: ['admin'] });
  for (const { id } of [company.customer, company.agent])
    expect((await admin.api.post(`/api/admin/users/${id}/erase`)).status).toBe(202);
  await settle();
  expect((await company.owner.api.get(`/api/tickets/${ticket.id}`)).status).toBe(404);
  const { data } = (await company.neighbour.api.get(`/api/comments/${reply.id}`)).body;
  expect(data).toMatchObject({ body: 'A reply' });
  expect(data).not.toHaveProperty('author');
});

test('a member who leaves loses their assignments, and their tickets are out of reach', async () => {
  const company = await createCompany('Leaving');
  const { id } = await openTicket(company.customer, 'Assigned');
  await company.agent.api.patch(`/api/tickets/${id}`, { assignee: company.agentship });
  for (const user of [company.agent, company.customer])
    expect((await user.api.post(`/api/organisations/${company.id}/leave`)).status).toBe(204);
  const { body } = await company.owner.api.get(`/api/tickets/${id}`);
  expect(body.data).toMatchObject({ id, title: 'Assigned' });
  expect(body.data).not.toHaveProperty('assignee');
  expect((await company.customer.api.get(`/api/tickets/${id}`)).status).toBe(404);
});

test('a deleted organisation takes its records along, and no others', async () => {
  const company = await createCompany('Closing');
  const { id } = await openTicket(company.customer, 'Last');
  await post(company.agent, '/api/comments', { ticket: id, body: 'Goodbye' });
  const kept = await openTicket(bolt.customer, 'Kept');
  expect((await company.agent.api.delete(`/api/organisations/${company.id}`)).status).toBe(403);
  expect((await company.owner.api.delete(`/api/organisations/${company.id}`)).status).toBe(204);
  expect(await titlesOf(company.customer)).toEqual([]);
  await settle();
  for (const name of ['ticket', 'comment'] as const)
    expect(await app.service(name).count({ organisation: company.id })).toBe(0);
  expect((await bolt.customer.api.get(`/api/tickets/${kept.id}`)).status).toBe(200);
});
