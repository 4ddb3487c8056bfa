import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Services } from '../../../src/declare/service.ts';
import {
  apiKeys,
  audit,
  defineUser,
  newId,
  type OrganisationsApi,
  organisations,
  realtime,
  softDelete,
  webhooks,
} from '../../../src/index.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import { type ApiResponse, type Client, createClient, startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';
import {
  comparable,
  type Declared,
  declareTenants,
  membershipArbitrary,
  NAMES,
  note,
  type Placed,
  ROLES,
  type Step,
  step,
  tenantArbitrary,
} from './generated-resources.ts';

async function checkIsolation(declared: readonly Declared[], roles: readonly number[][], steps: readonly Step[]) {
  const { app, url, person, call } = await startTestApp(
    {
      resources: [defineUser(), ...declareTenants(declared), note],
      extensions: [
        organisations(),
        softDelete(),
        audit(),
        apiKeys(),
        realtime(),
        webhooks({ allowPrivate: true, requireHttps: false }),
      ],
      settings: { relay: { sweepMs: 50, pollMs: 50 } },
    },
    { roles: 'all' },
  );
  const service = app.service as unknown as Services;
  const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
  const founder = await person('founder');
  const people = await Promise.all(
    ['ann', 'ben', 'cleo', 'dan'].map((name, i) => person(name, i === 0 ? ['user', 'admin'] : undefined)),
  );
  const teams = await Promise.all(
    [0, 1, 2].map(async (i) => {
      const slug = `sec${newId().slice(12)}q${i}`;
      return { slug, id: (await api.create({ name: slug, slug }, founder.id)).id };
    }),
  );
  const ever = people.map(() => new Set<number>());
  const now = people.map(() => new Map<number, string>());
  async function join(who: number, team: number, role: string) {
    if (now[who]!.has(team)) return;
    ever[who]!.add(team);
    now[who]!.set(team, (await api.addMember(teams[team]!.id, people[who]!.id, role)).id);
  }
  for (const [who, row] of roles.entries())
    for (const [team, role] of row.entries()) if (role < ROLES.length) await join(who, team, ROLES[role]!);

  const placed: Placed[] = [];
  // Ids and texts that a record outside of the organisation holds, because an actor or the system has written them there.
  const known = new Set<string>();
  async function place(organisation: number, resource: number, refs: object = {}) {
    const secret = `zq${newId().slice(8)}z${organisation}`;
    const values = { organisation: teams[organisation]!.id, title: secret, ...refs };
    const { id } = await service(NAMES[resource]!).create(values, { as: 'system' });
    placed.push({ organisation, resource, id, secret });
  }
  const inTeam = (organisation: number, resource: number) =>
    placed.filter((one) => one.organisation === organisation && one.resource === resource).map(({ id }) => id);
  for (const organisation of [0, 1, 2]) for (const resource of NAMES.keys()) await place(organisation, resource);

  // Streams and endpoints of every person receive changes during the whole run.
  const streamed = people.map(() => '');
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const receivers = await Promise.all(people.map(() => startReceiver()));
  onTestFinished(() => Promise.all(receivers.map((one) => one.close())).then(() => undefined));
  async function collectStream(token: string, resources: readonly string[], add: (text: string) => void) {
    const query = resources.map((name) => `subscribe=${name}`).join('&');
    const response = await fetch(`${url}/api/realtime?${query}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: stopping.signal,
    });
    void (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body!) add(decoder.decode(chunk as Uint8Array, { stream: true }));
    })().catch(() => undefined);
    return response.status;
  }
  for (const [who, { token, call: send }] of people.entries()) {
    await collectStream(token, [...NAMES, 'note'], (text) => {
      streamed[who] += text;
    });
    await send('POST', '/api/webhooks', { url: receivers[who]!.url, events: ['*'] });
  }

  const actors = new Map<string, Client>();
  for (const [who, { call: send, token }] of people.entries()) {
    actors.set(`${who}`, send);
    for (const [team, { id }] of teams.entries()) {
      if (!now[who]!.has(team)) continue;
      const within = createClient(url, token);
      actors.set(`${who} in ${team}`, (method, path, body, headers) =>
        within(method, path, body, { 'x-organisation': id, ...headers }),
      );
      const key = await within('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] }, { 'x-organisation': id });
      actors.set(`${who} key ${team}`, createClient(url, key.body.data.key));
    }
  }
  // Keys of the organisations themselves, with streams of their own.
  const streamedToTeams = teams.map(() => '');
  for (const [team, { id }] of teams.entries()) {
    const as = `org:${ROLES[roles[team]![team]! % ROLES.length]}`;
    const key = await founder.call('POST', `/api/organisations/${id}/api-keys`, { name: 'k', scopes: ['*'], as });
    actors.set(`organisation key ${team}`, createClient(url, key.body.data.key));
    for (const name of NAMES) {
      const status = await collectStream(key.body.data.key, [name], (text) => {
        streamedToTeams[team] += text;
      });
      // The role may allow no list of the resource.
      expect([200, 403]).toContain(status);
    }
  }
  actors.set('signed out', call);
  const names = [...actors.keys()];

  function reachOf(name: string): Set<number> {
    const [who, , team] = name.split(' ');
    if (who === 'signed') return new Set();
    if (who === 'organisation') return new Set([Number(team)]);
    const all = new Set(now[Number(who)]!.keys());
    return team === undefined ? all : new Set([...all].filter((one) => one === Number(team)));
  }

  /** Sends a request as an actor, and checks that the response contains nothing of the organisations that the actor does not reach. */
  async function ask(
    name: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ApiResponse> {
    const answer = await actors.get(name)!(method, path, body, headers);
    expect(answer.status, `${name}: ${method} ${path}`).toBeLessThan(500);
    const reach = reachOf(name);
    const sent = `${decodeURIComponent(path)} ${JSON.stringify(body)} ${JSON.stringify(headers)}`;
    const text = JSON.stringify(answer.body ?? null);
    const who = Number(name.split(' ')[0]);
    // A membership in another organisation is visible without the header, which narrows only the records of organisations.
    const seesTeams = Number.isNaN(who) || name.includes('key') ? reach : new Set(now[who]!.keys());
    for (const { organisation, id, secret } of placed)
      if (!reach.has(organisation))
        for (const leak of [id, secret])
          if (!sent.includes(leak) && !known.has(leak)) expect(text, `${name}: ${method} ${path}`).not.toContain(leak);
    // Admins of the app see which organisations have API keys of their own.
    const namesTeams = path.startsWith('/api/admin/');
    for (const [team, { id, slug }] of teams.entries())
      if (!seesTeams.has(team))
        for (const leak of namesTeams ? [slug] : [id, slug])
          if (!sent.includes(leak)) expect(text, `${name}: ${method} ${path}`).not.toContain(leak);
    // A page that holds everything shows how many records there are: the total must count no other record.
    if (answer.body?.meta?.total !== undefined && !path.includes('page='))
      expect(answer.body.meta.total, `${name}: ${path}`).toBe(answer.body.data.length);
    return answer;
  }

  /** Checks that an actor cannot distinguish a record of an organisation of others from one that does not exist. */
  async function compare(
    name: string,
    foreign: Placed,
    request: (
      id: string,
      secret: string,
    ) => [method: string, path: string, body?: unknown, headers?: Record<string, string>],
  ) {
    // The actor's own organisation may have a record with the same text.
    if (known.has(foreign.secret) && JSON.stringify(request('', foreign.secret)).includes(foreign.secret)) return;
    const none = { id: newId(), secret: `zq${newId().slice(8)}z9` };
    const first = await ask(name, ...request(foreign.id, foreign.secret));
    const second = await ask(name, ...request(none.id, none.secret));
    expect(
      comparable(first, [foreign.id, foreign.secret]),
      `${name}: ${request(foreign.id, foreign.secret).slice(0, 2).join(' ')}`,
    ).toBe(comparable(second, [none.id, none.secret]));
  }

  const pick = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)];
  let titles = 0;

  async function act({ kind, who, resource, record, other, organisation }: Step): Promise<void> {
    const name = names[who % names.length]!;
    const reach = reachOf(name);
    const path = `/api/${NAMES[resource]}s`;
    const foreign = pick(
      placed.filter((one) => one.resource === resource && !reach.has(one.organisation)),
      record,
    );
    const own = pick(
      placed.filter((one) => one.resource === resource && reach.has(one.organisation)),
      other,
    );
    const target = NAMES[declared[resource]!.target]!;
    const foreignTarget = pick(
      placed.filter((one) => NAMES[one.resource] === target && !reach.has(one.organisation)),
      record,
    );
    const foreignMany = pick(
      placed.filter((one) => one.resource === declared[resource]!.targets && !reach.has(one.organisation)),
      record,
    );
    const team = organisation % teams.length;
    const person = who % people.length;
    const isMember = name.startsWith('organisation') ? reach.has(team) : now[Number(name[0])]?.has(team);
    const isOutside = name !== 'signed out' && isMember !== true;
    const title = () => `new${++titles}x${newId().slice(16)}`;
    const operations: (() => Promise<unknown>)[] = [
      // Changes of the system and of memberships.
      () =>
        place(team, resource, {
          one: pick(inTeam(team, declared[resource]!.target), record),
          many: inTeam(team, declared[resource]!.targets).slice(0, 3),
        }),
      () => join(person, team, ROLES[record % ROLES.length]!),
      async () => {
        const membership = now[person]!.get(team);
        now[person]!.delete(team);
        if (membership !== undefined) await api.removeMember(teams[team]!.id, membership);
      },
      async () => own && service(NAMES[resource]!).update(own.id, { title: own.secret }, { as: 'system' }),
      async () => {
        if (own === undefined) return;
        known.add(own.id);
        await service('note').create(
          { body: 'n', about: own.resource === 0 ? own.id : null, all: own.resource === 1 ? [own.id] : [] },
          { as: 'system' },
        );
      },
      // Lists.
      () => ask(name, 'GET', `${path}?limit=100`),
      () => ask(name, 'GET', `${path}?limit=100&sort=-title&include=one,many`),
      () => ask(name, 'GET', `${path}?limit=100&one[exists]=true&count=capped`),
      () => ask(name, 'GET', `/api/notes?limit=100&include=about,all`),
      () => ask(name, 'GET', `/api/memberships?limit=100&include=organisation`),
      () => ask(name, 'GET', `/api/organisations?limit=100&include=members`),
      () => ask(name, 'GET', `${path}?limit=100&deleted=with`),
      () => ask(name, 'GET', `/api/${target}s?limit=100&include=from${NAMES[resource]}`),
      () => ask(name, 'GET', `/api/${target}s?limit=100&sort=-count(from${NAMES[resource]})`),
      async () => {
        const { status, body } = await ask(name, 'GET', `${path}/aggregate?group=title&count`);
        const all = await ask(name, 'GET', `${path}?limit=100`);
        if (status === 200) expect(body.meta.groups).toBeLessThanOrEqual(all.body.meta.total);
      },
      () => ask(name, 'GET', '/api/admin/audit?limit=50'),
      // What the service returns for a user.
      async () => {
        const records = await service(NAMES[resource]!)
          .list({ limit: 100 }, { user: people[person] as never })
          .catch(() => ({ data: [] }));
        for (const one of records.data)
          expect([...now[person]!.keys()].map((at) => teams[at]!.id)).toContain(one.organisation);
      },
      // Records of others are indistinguishable from records that do not exist.
      ...(foreign === undefined
        ? []
        : [
            () => compare(name, foreign, (id) => ['GET', `${path}/${id}`]),
            () => compare(name, foreign, (id) => ['PATCH', `${path}/${id}`, { title: 'x' }]),
            () => compare(name, foreign, (id) => ['PATCH', `${path}/${id}`, { unknown: 'x' }]),
            () => compare(name, foreign, (id) => ['DELETE', `${path}/${id}`]),
            () => compare(name, foreign, (id) => ['POST', `${path}/${id}/restore`]),
            () => compare(name, foreign, (_, secret) => ['GET', `${path}?title=${secret}`]),
            () => compare(name, foreign, (_, secret) => ['GET', `${path}?q=${secret}`]),
            () => compare(name, foreign, (_, secret) => ['GET', `${path}/aggregate?title=${secret}&count`]),
            () => compare(name, foreign, (_, secret) => ['GET', `${path}/aggregate?q=${secret}&countDistinct=title`]),
            () => compare(name, foreign, (_, secret) => ['GET', `${path}?title[in]=${secret},x`]),
            async () => {
              await compare(name, foreign, (_, secret) => ['POST', path, { title: secret }]);
              known.add(foreign.secret);
            },
            // A stream does not depend on the current organisation.
            async () =>
              name.includes(' in ') ||
              compare(name, foreign, (id) => ['HEAD', `/api/realtime?subscribe=${NAMES[resource]}/${id}`]),
          ]),
      ...(foreignTarget === undefined
        ? []
        : [
            () => compare(name, foreignTarget, (id) => ['POST', path, { title: title(), one: id }]),
            () => compare(name, foreignTarget, (id) => ['GET', `${path}?one=${id}`]),
            () => compare(name, foreignTarget, (_, secret) => ['GET', `${path}?one.title=${secret}`]),
            () => compare(name, foreignTarget, (_, secret) => ['GET', `${path}/aggregate?one.title=${secret}&count`]),
            () =>
              compare(name, foreignTarget, (_, secret) => [
                'GET',
                `/api/${target}s?from${NAMES[resource]}.title=${secret}`,
              ]),
            async () => own && compare(name, foreignTarget, (id) => ['PATCH', `${path}/${own.id}`, { one: id }]),
            () => compare(name, foreignTarget, (_, secret) => ['GET', `/api/notes?about.title=${secret}`]),
          ]),
      ...(foreignMany === undefined
        ? []
        : [
            () => compare(name, foreignMany, (id) => ['POST', path, { title: title(), many: [id] }]),
            async () => own && compare(name, foreignMany, (id) => ['PATCH', `${path}/${own.id}`, { many: [id] }]),
            () => {
              known.add(foreignMany.id);
              return compare(name, foreignMany, (id) => ['POST', '/api/notes', { body: 'n', all: [id] }]);
            },
          ]),
      // Organisations of others are indistinguishable from those that do not exist.
      ...(isOutside
        ? [id(team), slug(team)].flatMap((known) => [
            () => compare(name, known, (given) => ['GET', path, undefined, { 'x-organisation': given }]),
            () => compare(name, known, (given) => ['POST', path, { title: title() }, { 'x-organisation': given }]),
            () => compare(name, known, (given) => ['GET', `/api/organisations/${given}/members`]),
            () => compare(name, known, (given) => ['POST', `/api/organisations/${given}/leave`]),
            () => compare(name, known, (given) => ['GET', `/api/organisations/${given}/api-keys`]),
            () => compare(name, known, (given) => ['POST', `/api/organisations/${given}/api-keys`, { name: 'k' }]),
            () => compare(name, known, (given) => ['POST', '/api/auth/organisation', { organisation: given }]),
          ])
        : []),
      ...(isOutside
        ? [
            () => compare(name, id(team), (given) => ['GET', `/api/organisations/${given}`]),
            () => compare(name, id(team), (given) => ['POST', path, { title: title(), organisation: given }]),
            () => compare(name, id(team), (given) => ['GET', `/api/memberships?organisation=${given}`]),
            () => compare(name, id(team), (given) => ['GET', `${path}?organisation=${given}`]),
          ]
        : []),
    ];
    function id(at: number): Placed {
      return { organisation: at, resource: 0, id: teams[at]!.id, secret: teams[at]!.slug };
    }
    function slug(at: number): Placed {
      return { ...id(at), id: teams[at]!.slug };
    }
    await operations[kind % operations.length]!();
  }

  for (const one of steps) await act(one);

  // Everyone gets the last change, after all changes before it.
  for (const organisation of [0, 1, 2]) await place(organisation, 0);
  const last = `last${newId()}`;
  await service('note').create({ body: last }, { as: 'system' });
  await vi.waitFor(
    () => {
      for (const { requests } of receivers) expect(requests.some(({ body }) => body.includes(last))).toBe(true);
      for (const text of streamed) expect(text.includes(last)).toBe(true);
    },
    { timeout: 30_000, interval: 20 },
  );
  for (const [who, all] of ever.entries()) {
    const received = receivers[who]!.requests.map(({ body }) => body).join('\n');
    for (const { organisation, id, secret } of placed) {
      if (all.has(organisation)) continue;
      for (const leak of [id, secret].filter((one) => !known.has(one))) {
        expect(streamed[who]).not.toContain(leak);
        expect(received).not.toContain(leak);
      }
    }
  }
  for (const [team, text] of streamedToTeams.entries()) {
    expect(text).not.toContain('event: end');
    for (const { organisation, id, secret } of placed)
      if (organisation !== team)
        for (const leak of [id, secret].filter((one) => !known.has(one))) expect(text).not.toContain(leak);
  }
}

test(
  'nothing of an organisation reaches a user who is not its member, on any channel, for any declarations',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(tenantArbitrary, { minLength: NAMES.length, maxLength: NAMES.length }),
        membershipArbitrary,
        fc.array(step, { minLength: 150, maxLength: 150 }),
        checkIsolation,
      ),
      { numRuns: scaleRuns(2), endOnFailure: true },
    );
  },
  scaleRuns(300_000),
);
