import { expect, onTestFinished, test } from 'vitest';
import { adminConsole, createApp, defineResource, defineUser, f, softDelete } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const note = defineResource('note', { fields: { title: f.string() }, softDelete: true });
const other = defineResource('other', { fields: { title: f.string() } });
const options = { resources: [defineUser(), note, other], extensions: [softDelete(), adminConsole()] };
const { app, url, env } = await startTestApp(options);

/** Opens a stream; `text` has what it has sent so far. */
async function open(query = '') {
  const aborted = new AbortController();
  onTestFinished(() => aborted.abort());
  const response = await fetch(`${url}/console/api/changes${query}`, { signal: aborted.signal });
  const stream = { status: response.status, type: response.headers.get('content-type'), text: '' };
  const read = async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) stream.text += chunk;
  };
  read().catch((error: Error) => expect(error.name).toBe('AbortError'));
  return stream;
}

const changeOf = (resource: string, id: string, action: string) => JSON.stringify({ resource, id, action });

test('a stream has each change of a resource, with the kind of change', async () => {
  const stream = await open('?resource=note');
  expect([stream.status, stream.type]).toEqual([200, 'text/event-stream']);
  const { id } = await app.service('note').create({ title: 'a' });
  const ignored = await app.service('other').create({ title: 'b' });
  await app.service('note').update(id, { title: 'c' });
  await app.service('note').delete(id);
  await app.service('note').restore(id);
  for (const action of ['created', 'updated', 'deleted', 'restored'])
    await expect.poll(() => stream.text).toContain(`event: change\ndata: ${changeOf('note', id, action)}\n\n`);
  expect(stream.text).not.toContain(ignored.id);
});

test('changes of other processes arrive, too', { timeout: 60_000 }, async () => {
  const stream = await open();
  await expect.poll(() => stream.text, { timeout: 30_000 }).toContain('event: beat');
  const process = createApp(options, env);
  onTestFinished(() => process.close());
  await process.start({ port: 0, roles: ['web'] });
  const { id } = await process.service('other').create({ title: 'elsewhere' });
  await expect.poll(() => stream.text, { timeout: 30_000 }).toContain(changeOf('other', id, 'created'));
});

test.each(['?resource=nothing', '?resource=__proto__', '?resource='])('the stream %s is refused', async (query) => {
  expect((await open(query)).status).toBe(404);
});
