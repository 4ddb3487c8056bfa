import { signal } from '@preact/signals';
import { app, call } from 'belfry/console';
import { useEffect } from 'preact/hooks';
import { groupOperations, listOperations } from './document.js';

/** The document with its operations. It is read once, because it changes only with a new version of the app. */
const reference = signal({ data: undefined, error: undefined });
let isReading = false;

async function readReference() {
  if (isReading) return;
  isReading = true;
  try {
    const { data } = await call('/reference/document');
    const operations = listOperations(data.document);
    const groups = groupOperations(
      operations,
      app.value.resources.map(({ name }) => name),
    );
    const byId = new Map(operations.map((operation) => [operation.id, operation]));
    reference.value = { data: { ...data, operations, groups, byId }, error: undefined };
  } catch (error) {
    reference.value = { data: undefined, error };
  }
  isReading = false;
}

/** The OpenAPI document, in the form that `Loaded` shows. */
export function useReference() {
  useEffect(() => {
    if (reference.value.data === undefined) readReference();
  }, []);
  return { ...reference.value, reload: readReference };
}
