import { useEffect, useRef, useState } from 'preact/hooks';
import { confirmAction } from '../../kit/dialog.tsx';
import type { Operation } from '../operations.ts';
import type { Reference } from '../reference.ts';
import { texts } from '../texts.ts';
import { addToHistory } from './history.ts';
import { bodySchema, buildRequest, isJsonType, type Values } from './request.ts';
import { secretMembersOf, valuesForHistory } from './secrets.ts';
import { type Received, sendRequest } from './send.ts';

/** What has become of the newest request. While the next one is sent, the former response stays. */
interface State {
  isSending: boolean;
  received?: Received | undefined;
  error?: string;
}

/** Asks before a request that deletes data in production, or that needs a recent sign-in. */
async function confirmSending({ method, path, summary, raw }: Operation, { site }: Reference): Promise<boolean> {
  const isDangerous = method === 'DELETE' || (method !== 'GET' && raw['x-recent-sign-in'] === true);
  if (!site.warnsOfProduction || !isDangerous) return true;
  return confirmAction({
    title: texts.request.question(summary),
    text: texts.request.questionText(`${method} ${path}`, site.callers.current.value.label),
    action: texts.sendRequest,
    isDangerous: true,
  });
}

/** The entry of the history for a request, without secrets. */
function createEntry(operation: Operation, values: Values, { document }: Reference) {
  const { id, method } = operation;
  const secret = isJsonType(values.type) ? secretMembersOf(bodySchema(operation, values.type), document) : [];
  const kept = valuesForHistory(values, secret);
  const { path } = buildRequest(operation, { ...values, ...kept });
  return { operation: id, method, path, values: kept, at: new Date().toISOString() };
}

/** Sends requests, and keeps the newest result. */
export function useSender(operation: Operation, reference: Reference) {
  const [state, setState] = useState<State>({ isSending: false });
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  const send = async (values: Values) => {
    if (!(await confirmSending(operation, reference))) return;
    const abort = new AbortController();
    running.current = abort;
    setState(({ received }) => ({ isSending: true, received }));
    const entry = createEntry(operation, values, reference);
    try {
      const token = reference.site.callers.readToken();
      const received = await sendRequest(buildRequest(operation, values), token, abort.signal);
      addToHistory({ ...entry, status: received.status, ms: received.ms });
      setState({ isSending: false, received });
    } catch (error) {
      const isCancelled = abort.signal.aborted;
      if (!isCancelled) addToHistory({ ...entry, status: 0, ms: 0 });
      const reason = error instanceof Error ? error.message : String(error);
      setState({
        isSending: false,
        error: isCancelled ? texts.request.cancelled : texts.request.noResponse(reason),
      });
    }
  };
  return { ...state, send, cancel: () => running.current?.abort() };
}
