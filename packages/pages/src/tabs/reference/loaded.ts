import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { call, type RequestError, toRequestError } from '../../console/kit.ts';
import type { OpenApiDocument, RateLimit } from '../../reference/document.ts';
import { createReference, type Reference } from '../../reference/reference.ts';
import { createConsoleSite } from './console-site.tsx';

/** What the server says about the API of the app. */
interface DocumentResponse {
  document: OpenApiDocument;
  limits: { all: RateLimit | null };
  /** Whether the console can start sessions of users, in development. */
  canStartSession: boolean;
}

interface State {
  data: Reference | undefined;
  error: RequestError | undefined;
}

/** The document is read once, because it changes only with a new version of the app. */
const reference = signal<State>({ data: undefined, error: undefined });
let isReading = false;

async function readReference(): Promise<void> {
  if (isReading) return;
  isReading = true;
  try {
    const { data } = await call<DocumentResponse>('/reference/document');
    reference.value = { data: createReference(data.document, createConsoleSite(data)), error: undefined };
  } catch (error) {
    reference.value = { data: undefined, error: toRequestError(error) };
  }
  isReading = false;
}

/** The reference, in the form that `Loaded` shows. */
export function useReference(): State & { reload: () => Promise<void> } {
  useEffect(() => {
    if (reference.value.data === undefined) readReference();
  }, []);
  return { ...reference.value, reload: readReference };
}
