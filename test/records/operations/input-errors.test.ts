import { expect, test } from 'vitest';
import { ApiError, defineResource, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const work = defineResource('work', {
  fields: { x: f.string().filterable(), left: f.integer() },
  policies: { create: 'public', list: 'public', update: 'public' },
  hooks: {
    async beforeCreate(values, { service }) {
      if (values.x === 'hook as the system') await service('work').create({ x: 5 });
      if (values.x === 'hook as a visitor') await service('work').create({ x: 5 }, { user: undefined });
      if (values.x === 'hook refuses') throw new ApiError('VALIDATION_ERROR', 'Not so', { details: { x: 'Not so' } });
    },
  },
  routes: (route) => [
    route.post('/create', { policy: 'public' }, ({ service }) => service('work').create({ x: 5 })),
    route.post('/update', { policy: 'public' }, async ({ service }) => {
      const { id } = await service('work').create({ x: 'made' });
      return service('work').update(id, { y: 1 });
    }),
    route.get('/list', { policy: 'public' }, ({ service }) => service('work').list({ nope: 1 })),
    route.get('/limit', { policy: 'public' }, ({ service }) => service('work').first({ sort: 'nope' })),
    route.post('/in-transaction', { policy: 'public' }, ({ transaction }) =>
      transaction((tx) => tx.service('work').create({ x: 5 })),
    ),
    route.post('/as-visitor', { policy: 'public' }, ({ service, user }) => service('work').create({ x: 5 }, { user })),
    route.get('/list-as-visitor', { policy: 'public' }, ({ service, user }) =>
      service('work').list({ left: 1 }, { user }),
    ),
    route.post('/said-again', { policy: 'public' }, async ({ service }) => {
      try {
        return await service('work').create({ x: 5 });
      } catch (error) {
        throw new ApiError('VALIDATION_ERROR', undefined, { details: (error as ApiError).details ?? {} });
      }
    }),
    route.post('/hooked', { policy: 'public' }, ({ service }) => service('work').create({ x: 'hook refuses' })),
    route.post('/gone', { policy: 'public' }, ({ service }) => service('work').read('0123456789abcdef01234567')),
  ],
});

const { app, call } = await startTestApp({ resources: [work] });

test.each([
  ['POST', '/create'],
  ['POST', '/update'],
  ['GET', '/list'],
  ['GET', '/limit'],
  ['POST', '/in-transaction'],
])(
  'invalid input that code passes as the system is an error of the project: %s %s responds 500',
  async (method, path) => {
    const { status, body } = await call(method, `/api/works${path}`);
    expect([status, body.error.code, body.error.message]).toEqual([500, 'INTERNAL', 'Something went wrong']);
    expect(body.error).not.toHaveProperty('details');
  },
);

test.each([
  ['POST', '/as-visitor', 422, { x: 'Must be a string' }],
  ['GET', '/list-as-visitor', 400, undefined],
  ['POST', '/said-again', 422, { x: 'Must be a string' }],
  ['POST', '/hooked', 422, { x: 'Not so' }],
  ['POST', '/gone', 404, undefined],
] as const)(
  'errors of a call for a user, and those that project code throws itself, reach the client: %s %s responds %i',
  async (method, path, code, details) => {
    const { status, body } = await call(method, `/api/works${path}`);
    expect([status, body.error.details]).toEqual([code, details]);
  },
);

test.each([
  ['hook as the system', 500],
  ['hook as a visitor', 500],
  ['hook refuses', 422],
])(
  'invalid input of a call in a hook is a project error, whatever caused the change: "%s" responds %i',
  async (x, code) => {
    expect((await call('POST', '/api/works', { x })).status).toBe(code);
  },
);

test('code receives the error with its details and can handle it', async () => {
  const creation = app.service('work').create({ x: 5 as never });
  await expect(creation).rejects.toMatchObject({ code: 'VALIDATION_ERROR', details: { x: 'Must be a string' } });
  await expect(creation).rejects.toBeInstanceOf(ApiError);
});
