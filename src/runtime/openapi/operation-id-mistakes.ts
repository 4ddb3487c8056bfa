import type { Route } from '../../declare/route.ts';
import { operationIdOf } from './operation-id.ts';
import { shownRoutes } from './shown-routes.ts';

const METHOD_NAME = /^[a-z][A-Za-z0-9]*$/;

/** The mistakes in the operationIds of all routes in the document. */
export function operationIdMistakes(routes: readonly Route[]): string[] {
  const at = (route: Route) => `route ${route.method} ${route.path}`;
  const shown = shownRoutes(routes);
  const malformed = shown.filter(({ operationId }) => operationId !== undefined && !METHOD_NAME.test(operationId));
  const doubles = [...Map.groupBy(shown, operationIdOf)].filter(([, same]) => same.length > 1);
  return [
    ...malformed.map((route) => `${at(route)}: operationId "${route.operationId}" must look like publishPost`),
    ...doubles.map(
      ([id, same]) => `${same.map(at).join(' and ')} share the operationId "${id}"; set operationId on one of them`,
    ),
  ];
}
