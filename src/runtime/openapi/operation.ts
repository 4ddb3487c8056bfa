import type { z } from 'zod';
import type { Authenticator, SignInScheme } from '../../declare/authenticator.ts';
import { describeDeprecation } from '../../declare/deprecation.ts';
import { type CompiledPolicy, compilePolicy } from '../../declare/policy.ts';
import type { Route } from '../../declare/route.ts';
import { recordShapes } from '../../declare/route.ts';
import type { Settings } from '../../platform/settings/settings.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import type { FieldUses } from '../http/deprecation/field-uses.ts';
import { canUseDeprecatedField } from '../http/deprecation/index.ts';
import { createAggregateParameters } from './aggregate-parameters.ts';
import { describeConstraintResponses } from './constraint-responses.ts';
import { deriveDefaultSummary, operationIdOf, pascalCase } from './documented-routes.ts';
import { collectErrorCodes, mayReturnAnyError, readsBody } from './error-codes.ts';
import {
  addConditionalAndIdempotencyHeaders,
  createDeclaredQueryParameters,
  createListParameters,
  createPathParameters,
  createReadParameters,
} from './parameters.ts';
import { createDeprecationHeaders, createErrorResponses, createSuccessResponses } from './responses.ts';
import type { Components, Json } from './schema.ts';
import { shapeSchema } from './shape.ts';
import { createStreamedBody } from './streamed-body.ts';

/** Returns the sign-in schemes of the authenticators that the document describes. */
export function listSignInSchemes(authenticators: readonly Authenticator[]): SignInScheme[] {
  return authenticators.flatMap(({ scheme }) => scheme ?? []);
}

/** Creates the security schemes of the document; each is a token in the `Authorization` header. */
export function createSecuritySchemes(schemes: readonly SignInScheme[]): Json {
  return Object.fromEntries(
    schemes.map(({ name, description, bearerFormat }) => [
      name,
      { type: 'http', scheme: 'bearer', bearerFormat, description },
    ]),
  );
}

/** Returns the scopes that a route accepts, by sign-in scheme; undefined for a scheme without scopes. */
function listScopesByScheme(route: Route, schemes: readonly SignInScheme[]) {
  return schemes.map(({ name, scopesOf }) => ({ name, scopes: scopesOf?.(route) }));
}

/**
 * Returns the sign-in schemes that a route accepts, each with the narrowest scope that the route accepts. Public routes require none. A
 * route whose policy is a function counts as protected: only the function knows which calls are allowed without a token.
 */
function describeSecurity(route: Route, policy: CompiledPolicy, schemes: readonly SignInScheme[]): Json[] {
  if (policy.public) return [];
  const usable = listScopesByScheme(route, schemes).filter(({ scopes }) => scopes === undefined || scopes.length > 0);
  return usable.map(({ name, scopes = [] }) => ({ [name]: scopes.slice(0, 1) }));
}

/** The narrowest scope that a route accepts from a token with scopes; the route's own scope if no sign-in scheme has scopes. */
function findRequiredScope(route: Route, schemes: readonly SignInScheme[]): string | undefined {
  const [first] = listScopesByScheme(route, schemes).flatMap(({ scopes }) => scopes?.slice(0, 1) ?? []);
  return first ?? route.scope;
}

/** Describes the callers that the policy of a route allows. */
function describeAccess(route: Route, policy: CompiledPolicy, schemes: readonly SignInScheme[]): string {
  const scopeTexts = listScopesByScheme(route, schemes).flatMap(({ scopes }) => {
    if (scopes === undefined) return [];
    if (scopes.length === 0) return ' API keys are not accepted.';
    return ` An API key needs the scope ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;
  });
  return `Access: \`${policy.text}\`.${scopeTexts.join('')}`;
}

/** The inputs of operations, besides their routes. */
interface OperationParts {
  resources: ReadonlyMap<string, CompiledResource>;
  schemes: readonly SignInScheme[];
  settings: Settings;
  components: Components;
  /** Undefined if the app has no deprecated field. */
  fieldUses: FieldUses | undefined;
}

function createQueryParameters(route: Route, resource: CompiledResource | undefined, parts: OperationParts): Json[] {
  const { resources, settings } = parts;
  const getResource = (name: string) => resources.get(name)!;
  if (route.aggregates) return createAggregateParameters(resource!);
  if (route.crud === 'list') return createListParameters(resource!, getResource, settings.pagination);
  return route.crud === 'read' ? createReadParameters(resource!, getResource) : [];
}

/** Whether a route's input requires no property. Then a request without a body counts as one with an empty object. */
function acceptsEmptyBody({ input }: Route): boolean {
  return input !== undefined && '_zod' in input && (input as unknown as z.ZodType).safeParse({}).success;
}

/** Creates the description of the request body of a route. If the handler validates the body itself, the body may be optional. */
function createRequestBody(route: Route, name: string, components: Components): Json {
  if (!readsBody(route)) return {};
  if (typeof route.body === 'object') return createStreamedBody(route.body, name, components);
  const shape = route.input ?? route.bodyShape;
  const schema = shape === undefined ? {} : shapeSchema(shape, 'input', `${name}Body`, components);
  return {
    requestBody: {
      required: shape !== undefined && !acceptsEmptyBody(route),
      content: {
        'application/json': { schema },
        ...(route.formShape === undefined ? {} : { 'multipart/form-data': route.formShape }),
      },
    },
  };
}

/** Whether a rate limit applies to a route. In test mode, where limits are off, the document says that they apply. */
function isRateLimited({ rateLimit }: Route, { rateLimit: { enabled, global: all, auth } }: Settings): boolean {
  const own = rateLimit !== undefined && (rateLimit !== 'auth' || auth !== false);
  return enabled !== false && (all !== false || own);
}

/** The route's own rate limit, and whether it requires a recent sign-in, in a form that programs can read. */
function createLimitFacts({ rateLimit, recentSignIn }: Route, { rateLimit: { enabled, auth } }: Settings): Json {
  const rule = rateLimit === 'auth' ? auth : rateLimit;
  return {
    ...(enabled === false || rule === undefined || rule === false ? {} : { 'x-rate-limit': rule }),
    ...(recentSignIn === true ? { 'x-recent-sign-in': true } : {}),
  };
}

/**
 * Creates the OpenAPI operation of a route: all that a client needs to call it and to read the responses.
 *
 * @param path the path as written in the document
 */
export function buildOperation(route: Route, path: string, parts: OperationParts): Json {
  const { resources, schemes, settings, components, fieldUses } = parts;
  const operationId = operationIdOf(route);
  const name = pascalCase(operationId);
  const policy = compilePolicy(route.policy ?? 'authenticated', () => undefined);
  const resource = route.resource === undefined ? undefined : resources.get(route.resource);
  const body = route.bodyShape === undefined ? undefined : recordShapes.get(route.bodyShape);
  const facts = {
    policy,
    resource,
    written: body === undefined ? undefined : resources.get(body.resource),
    scoped: schemes.some(({ scopesOf }) => scopesOf !== undefined),
    limited: isRateLimited(route, settings),
  };
  const parameters = [
    ...createPathParameters(path, resource),
    ...createQueryParameters(route, resource, parts),
    ...createDeclaredQueryParameters(route, name, components),
    ...addConditionalAndIdempotencyHeaders(route, components),
  ];
  const scope = findRequiredScope(route, schemes);
  const mayAnnounce =
    route.deprecated !== undefined || (fieldUses !== undefined && canUseDeprecatedField(route, fieldUses));
  const announced = mayAnnounce ? createDeprecationHeaders(components) : {};
  const context = { limited: facts.limited, announced, components };
  const description = [
    route.deprecated && describeDeprecation(route.deprecated),
    route.description,
    describeAccess(route, policy, schemes),
  ].filter((text) => text !== undefined);
  return {
    operationId,
    summary: route.summary ?? deriveDefaultSummary(operationId),
    description: description.join('\n\n'),
    ...(route.deprecated === undefined ? {} : { deprecated: true }),
    tags: route.tags ?? [route.path.split('/')[1]],
    'x-policy': policy.text,
    ...(scope === undefined ? {} : { 'x-required-scope': scope }),
    ...createLimitFacts(route, settings),
    security: describeSecurity(route, policy, schemes),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...createRequestBody(route, name, components),
    responses: {
      ...createSuccessResponses(route, name, context),
      ...describeConstraintResponses(
        facts.written,
        createErrorResponses(collectErrorCodes(route, facts), mayReturnAnyError(route, facts), context),
      ),
    },
  };
}
