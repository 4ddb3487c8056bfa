import type { AnyField } from '../../src/declare/field.ts';
import { createApp, defineResource, defineUser, f } from '../../src/index.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/none', REDIS_URL: 'redis://localhost' };

/** The message of the configuration error that `createApp` throws; empty if it creates the app. */
export function getStartupError(options: Parameters<typeof createApp>[0]): string {
  try {
    createApp(options, env).close();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** The startup error of the resource `thing` with a field `a`. */
export function getStartupErrorOfField(field: AnyField): string {
  return getStartupError({ resources: [defineUser(), defineResource('thing', { fields: { a: field } })] });
}

/** The startup error of the resource `thing` with these options. */
export function getStartupErrorOfOptions(options: object): string {
  const fields = { a: f.string(), who: f.ref('user').owner() };
  return getStartupError({ resources: [defineUser(), defineResource('thing', { fields, ...options })] });
}
