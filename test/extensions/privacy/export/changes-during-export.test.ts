import { expect, test } from 'vitest';
import { defineResource, defineUser, f, privacy, softDelete } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { exportOf } from './app.ts';

let meanwhile: (() => Promise<unknown>) | undefined;

/** Called for each record that the export has read; runs `meanwhile` once. */
async function sees(): Promise<boolean> {
  const work = meanwhile;
  meanwhile = undefined;
  await work?.();
  return true;
}

const fields = { title: f.string(), remark: f.string().visibleTo(sees), author: f.ref('user').owner() };

test.each([true, false])(
  'a record that is deleted or restored during an export is in it exactly once; timestamps: %s',
  async (timestamps) => {
    const note = defineResource('note', { fields, timestamps, softDelete: true });
    const running = await startTestApp(
      { resources: [defineUser(), note], extensions: [privacy(), softDelete()] },
      { roles: 'all' },
    );
    const ada = await running.person('Ada');
    const made = async (title: string) => (await ada.call('POST', '/api/notes', { title })).body.data.id as string;
    const ids = {
      live: await made('live'),
      going: await made('going'),
      back: await made('back'),
      gone: await made('gone'),
    };
    for (const id of [ids.back, ids.gone]) await ada.call('DELETE', `/api/notes/${id}`);
    const statuses: number[] = [];
    meanwhile = async () => {
      statuses.push((await ada.call('POST', `/api/notes/${ids.back}/restore`)).status);
      statuses.push((await ada.call('DELETE', `/api/notes/${ids.going}`)).status);
    };

    const files = await exportOf(ada, running);
    expect(statuses).toEqual([200, 204]);
    const exportedTitles = files['records/notes.ndjson'].map(({ title }: { title: string }) => title);
    expect(exportedTitles.sort()).toEqual(['back', 'going', 'gone', 'live']);
    const deleted = files['records/notes.ndjson'].filter((one: object) => 'deletedAt' in one);
    expect(deleted.map(({ title }: { title: string }) => title).sort()).toEqual(['back', 'gone']);
    expect(deleted[0].deletedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  },
);
