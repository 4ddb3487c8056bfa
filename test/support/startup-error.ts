import type { AnyField } from '../../src/declare/field.ts';
import { createApp, defineResource, defineUser, f } from '../../src/index.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/none', REDIS_URL: 'redis://localhost' };

/** The text of what `createApp` says of declarations; empty when it makes the app. */
export function startupError(options: Parameters<typeof createApp>[0]): string {
  try {
    createApp(options, env).close();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** What it says of the resource `thing` with a field `a`. */
export function startupErrorOfField(field: AnyField): string {
  return startupError({ resources: [defineUser(), defineResource('thing', { fields: { a: field } })] });
}

/** What it says of the resource `thing` with these options. */
export function startupErrorOfOptions(options: object): string {
  const fields = { a: f.string(), who: f.ref('user').owner() };
  return startupError({ resources: [defineUser(), defineResource('thing', { fields, ...options })] });
}
