import { expect, test } from 'vitest';
import type { AnyResource } from '../../../src/declare/resource.ts';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { runCommand } from '../../support/processes/in-process.ts';

const account = { email: f.email().required().unique(), password: f.password().required() };
const roles = (...words: [string, ...string[]]) => f.array(f.enum(words)).writableBy('admin');

/** An app with these users. Returns functions that run a command and that sign in with the printed password. */
async function withUsers(user: AnyResource) {
  // Fields of another resource must not be taken for fields of the user.
  const post = defineResource('post', { fields: { name: f.string(), roles: f.array(f.enum(['user'])) } });
  const { app, url } = await startTestApp({ resources: [user, post] });
  return {
    admin: (args: string) => runCommand(`admin ${args}`, app),
    async signIn(output: string) {
      const password = output.split(' ').at(-1);
      const { body } = await createClient(url)('POST', '/api/auth/login', { email: 'root@example.com', password });
      return body.data.user;
    },
  };
}

const CREATE = 'create --email root@example.com';

test('the first admin can be created if users have no name and no role "user"', async () => {
  const { admin, signIn } = await withUsers(
    defineResource('user', { fields: { ...account, roles: roles('admin', 'staff') }, owner: '_id' }),
  );
  expect(await admin(`${CREATE} --name Root`)).toMatchObject({ code: 1, errorOutput: 'name: Unknown field' });
  expect(await admin(`${CREATE} --role king`)).toMatchObject({
    code: 1,
    errorOutput: 'roles.0: Must be one of: admin, staff',
  });
  const { code, output, errorOutput } = await admin(CREATE);
  expect([code, errorOutput]).toEqual([0, '']);
  expect(output).toMatch(/^root@example.com is admin now \(/);
  const user = await signIn(output);
  expect(user.roles).toEqual(['admin']);
  expect(user).not.toHaveProperty('name');
});

test('the first admin also gets the role "user" if users have that role', async () => {
  const { admin, signIn } = await withUsers(defineUser());
  const { output } = await admin(CREATE);
  expect(await signIn(output)).toMatchObject({ name: 'root', roles: ['user', 'admin'] });
});

test('if users have no roles, an account is created, and the output does not claim that it has one', async () => {
  const { admin, signIn } = await withUsers(defineResource('user', { fields: account, owner: '_id' }));
  const { code, output, errorOutput } = await admin(CREATE);
  expect([code, errorOutput]).toEqual([0, '']);
  expect(output).toMatch(/^root@example.com is created without a role, because users have no field roles \(/);
  expect(await signIn(output)).not.toHaveProperty('roles');
});
