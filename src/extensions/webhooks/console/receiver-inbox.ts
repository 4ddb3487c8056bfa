import { ApiError } from '../../../extension/index.ts';
import type { Answer, ReceivedContent, Receiver } from './responses.ts';

/** What the receiver keeps, over all of its addresses. */
const MAX_REQUESTS = 100;
const MAX_KEPT_BYTES = 8 * 2 ** 20;

/** How the receiver responds, with the status of the response. */
export const ANSWERS: Readonly<Record<Answer, number>> = { accept: 204, fail: 500, slow: 204, gone: 410 };

/** The name of the event in a body; null if the body has none. */
function readEventType(body: string): string | null {
  try {
    const { type } = (JSON.parse(body) ?? {}) as { type?: unknown };
    return typeof type === 'string' ? type.slice(0, 200) : null;
  } catch {
    return null;
  }
}

/** Creates what the receiver keeps: the newest requests, and how each address responds. */
export function createInbox() {
  let requests: readonly ReceivedContent[] = [];
  const answers = new Map<string, Answer>();

  function keep(request: ReceivedContent): void {
    let left = MAX_KEPT_BYTES;
    requests = [request, ...requests].slice(0, MAX_REQUESTS).filter(({ body }) => {
      left -= body.length;
      return left >= 0;
    });
  }

  function list(): Omit<Receiver, 'obstacle'> {
    const listed = requests.map(({ headers: _, body, ...request }) => ({
      ...request,
      type: readEventType(body),
      bytes: Buffer.byteLength(body),
    }));
    return { requests: listed, answers: Object.fromEntries(answers) };
  }

  /** @throws ApiError NOT_FOUND */
  function read(id: string | undefined): ReceivedContent {
    const found = requests.find((request) => request.id === id);
    if (found === undefined) throw new ApiError('NOT_FOUND', 'The receiver no longer keeps this request');
    return found;
  }

  return {
    keep,
    list,
    read,
    clear() {
      requests = [];
    },
    answerOf: (name: string): Answer => answers.get(name) ?? 'accept',
    setAnswer(name: string, answer: Answer) {
      answers.delete(name);
      answers.set(name, answer);
      if (answers.size > MAX_REQUESTS) answers.delete(answers.keys().next().value!);
    },
  };
}

/** What the receiver keeps. */
export type Inbox = ReturnType<typeof createInbox>;
