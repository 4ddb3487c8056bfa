import { ERROR_CODES, type ErrorCode } from '../../platform/errors.ts';
import type { Components } from './components.ts';
import { answerHeaders, limitHeaders } from './headers.ts';
import type { Json } from './json.ts';

const ALL_CODES = Object.keys(ERROR_CODES) as ErrorCode[];

function errorSchema(codes: readonly ErrorCode[]): Json {
  const details = 'What is wrong, by field; inside objects and arrays by path (`address.city`, `tags.2`). At most 100.';
  const error = {
    type: 'object',
    properties: {
      code: { type: 'string', enum: codes },
      message: { type: 'string', description: 'For people.' },
      requestId: { type: 'string', description: 'The `X-Request-Id` of this answer.' },
      details: { type: 'object', additionalProperties: { type: 'string' }, description: details },
    },
    required: ['code', 'message', 'requestId'],
  };
  return { type: 'object', properties: { error }, required: ['error'] };
}

/** `NOT_FOUND` → `NotFound`. */
function partName(code: ErrorCode): string {
  return code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

interface Making {
  /** Whether a rate limit holds: then every answer says how much is left of it. */
  limited: boolean;
  components: Components;
}

function answer(
  description: string,
  statuses: readonly number[],
  codes: readonly ErrorCode[],
  { limited, components }: Making,
): Json {
  const ofStatuses = statuses.map((status) => answerHeaders(status, components));
  const headers = Object.assign({}, ...ofStatuses, limited ? limitHeaders(components) : {});
  return { description, headers, content: { 'application/json': { schema: errorSchema(codes) } } };
}

/**
 * The error answers of a route by status, each with the codes that it can carry.
 *
 * @param free whether code that the document knows nothing of may answer, too: then any status of a client's error
 */
export function errorAnswers(codes: ReadonlySet<ErrorCode>, free: boolean, making: Making): Json {
  const { components } = making;
  const inOrder = ALL_CODES.filter((code) => codes.has(code));
  const byStatus = Map.groupBy(inOrder, (code) => ERROR_CODES[code].status);
  const answers = [...byStatus].map(([status, own]) => {
    const text = own.map((code) => `\`${code}\`: ${ERROR_CODES[code].message}.`).join(' ');
    const part = answer(text, [status], own, making);
    return [String(status), components.named('responses', own.map(partName).join('Or'), part)] as const;
  });
  if (!free) return Object.fromEntries(answers);
  const clients = ALL_CODES.filter((code) => ERROR_CODES[code].status < 500);
  const statuses = clients.map((code) => ERROR_CODES[code].status);
  const any = answer('Any error that this route finds a reason for.', statuses, clients, making);
  return { ...Object.fromEntries(answers), '4XX': components.named('responses', 'AnyClientError', any) };
}
