import type { AnyField } from '../../src/declare/field.ts';
import { createApp, defineResource, defineUser, f } from '../../src/index.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/none', REDIS_URL: 'redis://localhost' };

/** The text of what `createApp` says of declarations; empty when it makes the app. */
export function complaint(options: Parameters<typeof createApp>[0]): string {
  try {
    createApp(options, env).close();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** What it says of the resource `thing` with a field `a`. */
export function complaintOfField(field: AnyField): string {
  return complaint({ resources: [defineUser(), defineResource('thing', { fields: { a: field } })] });
}

/** What it says of the resource `thing` with these options. */
export function complaintOfOptions(options: object): string {
  const fields = { a: f.string(), who: f.ref('user').owner() };
  return complaint({ resources: [defineUser(), defineResource('thing', { fields, ...options })] });
}
