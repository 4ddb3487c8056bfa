// HTTP: routes and their input, errors, responses, pages, and requests to addresses that users choose.
export type { BinaryBody } from '../declare/body.ts';
export type { ConsoleConcern, ConsoleRoute, ConsoleTab } from '../declare/console-tab.ts';
export { colorSettings, createThemeCss, pathSettingSchema, titleSettingSchema } from '../declare/page-settings.ts';
export type { Route, RouteBuilder, RouteContext } from '../declare/route.ts';
export { recordShape } from '../declare/route.ts';
export type { ErrorCode, ErrorDetails } from '../platform/helpers/errors.ts';
export { ApiError, validationError } from '../platform/helpers/errors.ts';
export { escapeHtml } from '../platform/helpers/escape-html.ts';
export { boundedArraySchema } from '../platform/helpers/json/bounded-array.ts';
export { findPageLanguage } from '../platform/helpers/language.ts';
export { countParameter, toPage } from '../platform/helpers/pages.ts';
export type { StandardSchema } from '../platform/helpers/standard-schema.ts';
export { issuePath } from '../platform/helpers/standard-schema.ts';
export { requiredTextSchema } from '../platform/helpers/text-schema.ts';
export {
  AddressRefusedError,
  checkUrl,
  createGuardedAgent,
  createHostCheck,
  isNameServer,
} from '../platform/http/address-guard/index.ts';
export { mediaTypeOf } from '../platform/http/bodies/body-stream.ts';
export { addressOf, clientKeyOf, isFromThisMachine } from '../platform/http/client-address.ts';
export type { PostResult } from '../platform/http/post.ts';
export { MAX_RESPONSE_BYTES, sendPost } from '../platform/http/post.ts';
export { parseQueryString } from '../platform/http/query-string.ts';
export { getIdentity, getRequestId, noteWait, setIdentity } from '../platform/http/request-context.ts';
export { mapResponseData, sendJson, withMeta, withoutCaching } from '../platform/http/response.ts';
export { parseRetryAfter } from '../platform/http/retry-after.ts';
export type { ServedContent } from '../platform/http/served-bytes.ts';
export { memoizeAsync, prepareContent, sendContent } from '../platform/http/served-bytes.ts';
export { describeUserAgent } from '../platform/http/user-agent.ts';
export type { Translation } from '../platform/languages/index.ts';
export { appHostOf, getAppUrl } from '../platform/settings/environment.ts';
