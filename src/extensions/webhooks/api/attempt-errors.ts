import {
  type ExtensionHost,
  findPageLanguage,
  mapResponseData,
  type Route,
  type Translation,
} from '../../../extension/index.ts';

/** A part of a response with errors of attempts: an endpoint, a delivery, or the explanation of a delivery. */
interface Attempted {
  error?: unknown;
  lastError?: unknown;
  attemptLog?: readonly Attempted[];
  delivery?: Attempted;
  deliveries?: readonly Attempted[];
}

function translateErrors<T extends Attempted>(part: T, translation: Translation): T {
  const { attemptLog, delivery, deliveries } = part;
  const translateAll = (parts: readonly Attempted[]) => parts.map((one) => translateErrors(one, translation));
  return {
    ...translation.members(part, ['error', 'lastError']),
    ...(attemptLog && { attemptLog: translateAll(attemptLog) }),
    ...(delivery && { delivery: translateErrors(delivery, translation) }),
    ...(deliveries && { deliveries: translateAll(deliveries) }),
  };
}

/**
 * Returns routes that say the errors of attempts in the language of the page of Belfry which asks. All other clients get them as they are
 * stored, so that they can compare them.
 */
export function withTranslatedErrors<R extends Pick<Route, 'handler'>>(
  routes: readonly R[],
  { languages }: Pick<ExtensionHost, 'languages'>,
): R[] {
  return routes.map((route) => ({
    ...route,
    async handler(ctx) {
      const result = await route.handler(ctx);
      const language = findPageLanguage(ctx.req);
      if (language === undefined || language === 'en') return result;
      const translation = languages.for(ctx.req);
      return mapResponseData(result, async (data) => {
        if (Array.isArray(data)) return data.map((one: Attempted) => translateErrors(one, translation));
        return typeof data === 'object' && data !== null ? translateErrors(data, translation) : data;
      });
    },
  }));
}
