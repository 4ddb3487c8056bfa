import type { Authenticator, SignInScheme } from '../../declare/host.ts';
import type { CompiledPolicy } from '../../declare/policy.ts';
import type { Route } from '../../declare/route.ts';
import { needsUser } from '../../records/access.ts';
import type { Json } from './json.ts';

/** The ways to sign in that the document tells of. */
export function schemesOf(authenticators: readonly Authenticator[]): SignInScheme[] {
  return authenticators.flatMap(({ scheme }) => scheme ?? []);
}

/** The security schemes of the document: all of them tokens in the `Authorization` header. */
export function securitySchemes(schemes: readonly SignInScheme[]): Json {
  return Object.fromEntries(
    schemes.map(({ name, description, bearerFormat }) => [
      name,
      { type: 'http', scheme: 'bearer', bearerFormat, description },
    ]),
  );
}

/** How a route may be signed in on; nothing at all is one of the ways where the policy does not ask for a user. */
export function securityOf(route: Route, policy: CompiledPolicy, schemes: readonly SignInScheme[]): Json[] {
  const usable = schemes.filter(({ scopesOf }) => scopesOf === undefined || scopesOf(route).length > 0);
  return [...(needsUser(policy) ? [] : [{}]), ...usable.map(({ name }) => ({ [name]: [] }))];
}

/** What is to be said of who may call a route. */
export function accessText(route: Route, policy: CompiledPolicy, schemes: readonly SignInScheme[]): string {
  const scopes = schemes.flatMap(({ scopesOf }) => scopesOf?.(route) ?? []);
  const scoped =
    scopes.length === 0 ? '' : ` A token with scopes needs ${scopes.map((one) => `\`${one}\``).join(' or ')}.`;
  return `Who may: \`${policy.text}\`.${scoped}`;
}
