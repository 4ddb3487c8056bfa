import type { Authenticator, SignInScheme } from '../../declare/host.ts';
import type { CompiledPolicy } from '../../declare/policy.ts';
import type { Route } from '../../declare/route.ts';
import type { Json } from './json.ts';

/** The ways to sign in that the document describes. */
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

/** The scopes of which each way to sign in needs one on a route; undefined: it needs none. */
function scopesBy(route: Route, schemes: readonly SignInScheme[]) {
  return schemes.map(({ name, scopesOf }) => ({ name, scopes: scopesOf?.(route) }));
}

/**
 * The schemes of which a route requires one, with the narrowest scope that it takes. Public routes require none. A route whose
 * policy is a function counts as protected: only the function knows which calls it lets through without a token.
 */
export function securityOf(route: Route, policy: CompiledPolicy, schemes: readonly SignInScheme[]): Json[] {
  if (policy.public) return [];
  const usable = scopesBy(route, schemes).filter(({ scopes }) => scopes === undefined || scopes.length > 0);
  return usable.map(({ name, scopes = [] }) => ({ [name]: scopes.slice(0, 1) }));
}

/** The narrowest scope with which a token that has scopes is good on a route; the route's own where there are no such tokens. */
export function requiredScope(route: Route, schemes: readonly SignInScheme[]): string | undefined {
  const [first] = scopesBy(route, schemes).flatMap(({ scopes }) => scopes?.slice(0, 1) ?? []);
  return first ?? route.scope;
}

/** What is to be said of who may call a route. */
export function accessText(route: Route, policy: CompiledPolicy, schemes: readonly SignInScheme[]): string {
  const told = scopesBy(route, schemes).flatMap(({ scopes }) => {
    if (scopes === undefined) return [];
    if (scopes.length === 0) return ' API keys are not good here.';
    return ` An API key needs the scope ${scopes.map((one) => `\`${one}\``).join(' or ')}.`;
  });
  return `Who may: \`${policy.text}\`.${told.join('')}`;
}
